// Upstream passes on graph ops: inlining, removal of what is not used, merging of what is equal.
// RUN: dtc-opt %s -inline -cse -symbol-dce | FileCheck %s

// CHECK-NOT: @block
graph.func private @block(%x: tensor<?x8xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<?x8xf32> {
  %unused = graph.exp %x : tensor<?x8xf32>
  %0 = graph.dropout %x p 0.5 id 1 key(%seed, %step) : tensor<?x8xf32>
  graph.return %0 : tensor<?x8xf32>
}

// An outlined kernel stays a call.
// CHECK: graph.func private @kernel
graph.func private @kernel(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {kernel} {
  %0 = graph.exp %x : tensor<?x8xf32>
  graph.return %0 : tensor<?x8xf32>
}

// Each layer draws from streams of its own: instance i adds 65536 i to the stream.
// CHECK-LABEL: graph.func @layers
graph.func @layers(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-COUNT-1: graph.input seed
  // CHECK-NOT: graph.input seed
  %seed = graph.input seed : tensor<i64>
  %again = graph.input seed : tensor<i64>
  %step = graph.input step : tensor<f32>
  // CHECK-NOT: graph.exp
  // CHECK: graph.dropout %{{.*}} p 5.000000e-01 id 1 key
  %0 = graph.call @block(%x, %seed, %step) : (tensor<?x8xf32>, tensor<i64>, tensor<f32>) -> tensor<?x8xf32>
  // CHECK: graph.dropout %{{.*}} p 5.000000e-01 id 131073 key
  %1 = graph.call @block(%0, %again, %step) instance 2 : (tensor<?x8xf32>, tensor<i64>, tensor<f32>) -> tensor<?x8xf32>
  // CHECK: graph.call @kernel
  %2 = graph.call @kernel(%1) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  graph.return %2 : tensor<?x8xf32>
}

// Blocks that call blocks.
// CHECK-NOT: @inner
// CHECK-NOT: @outer
graph.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}
graph.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}
// CHECK-LABEL: graph.func @two_levels
// CHECK-SAME:  (%[[X:.*]]: tensor<4xf32>)
graph.func @two_levels(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[E:.*]] = graph.exp %[[X]]
  // CHECK: %[[K:.*]] = graph.log %[[E]]
  // CHECK: graph.return %[[K]]
  %0 = graph.call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.log %0 : tensor<4xf32>
  graph.return %1 : tensor<4xf32>
}
