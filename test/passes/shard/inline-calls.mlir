// RUN: dtc-opt %s --dtc-inline-calls | FileCheck %s

// Bodies take the place of calls, also through two levels; calls of kernels stay; unused blocks go.
// CHECK-NOT:   @inner
// CHECK-NOT:   @outer
graph.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}
graph.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}
graph.func private @kernel_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {kernel, kernel_range = 1 : i64} {
  %0 = graph.log %x : tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}
// CHECK-LABEL: graph.func @top
// CHECK-SAME:  (%[[X:.*]]: tensor<4xf32>)
graph.func @top(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[E:.*]] = graph.exp %[[X]]
  // CHECK: %[[K:.*]] = graph.call @kernel_0(%[[E]])
  // CHECK: graph.return %[[K]]
  %0 = graph.call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.call @kernel_0(%0) : (tensor<4xf32>) -> tensor<4xf32>
  graph.return %1 : tensor<4xf32>
}

// Each call of a block with dropout draws from a stream of its own.
graph.func private @drop(%x: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<4xf32> {
  %0 = graph.dropout %x p 0.5 id 3 key(%seed, %step) : tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}
// CHECK-LABEL: graph.func @streams
graph.func @streams(%x: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<4xf32> {
  // CHECK: graph.dropout {{.*}} id 65539
  // CHECK: graph.dropout {{.*}} id 131075
  %0 = graph.call @drop(%x, %seed, %step) instance 1 : (tensor<4xf32>, tensor<i64>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.call @drop(%0, %seed, %step) instance 2 : (tensor<4xf32>, tensor<i64>, tensor<f32>) -> tensor<4xf32>
  graph.return %1 : tensor<4xf32>
}
