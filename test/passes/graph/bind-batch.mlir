// RUN: dtc-opt %s --dtc-bind-batch=batch=4 -split-input-file | FileCheck %s

// The dynamic batch gets its size everywhere; a mean keeps what it divides by.
// CHECK-LABEL: graph.func @mean
// CHECK-SAME:  (%[[X:.*]]: tensor<4x8xf32>) -> tensor<f32>
graph.func @mean(%x: tensor<?x8xf32>) -> tensor<f32> {
  // CHECK: graph.reduce sum %[[X]] dims [0, 1] scale 3.125000e-02 : tensor<4x8xf32> -> tensor<f32>
  %0 = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %0 : tensor<f32>
}

// -----

// A loss that is a sum over the samples is marked: those of micro-batches add up, and are not averaged.
// CHECK-LABEL: graph.func @loss(%x: tensor<4x8xf32>) -> tensor<f32> attributes {graph.adds_up}
graph.func private @squares(%x: tensor<?x8xf32>) -> tensor<?xf32> {
  %0 = graph.multiply %x, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = graph.reduce sum %0 dims [1] : tensor<?x8xf32> -> tensor<?xf32>
  graph.return %1 : tensor<?xf32>
}
graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.call @squares(%x) : (tensor<?x8xf32>) -> tensor<?xf32>
  %1 = graph.reduce sum %0 dims [0] : tensor<?xf32> -> tensor<f32>
  %2 = graph.scale %1 by 0.5 : tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

// A mean may have what does not depend on the samples added to it.
// CHECK-LABEL: graph.func @loss(%x: tensor<4x8xf32>) -> tensor<f32> {
graph.parameter @w : tensor<8xf32> init zeros
graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  %w = graph.get @w : tensor<8xf32>
  %0 = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  %1 = graph.sum_squares %w : tensor<8xf32>
  %2 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

// A dim that batch and sequence were merged into has the rows of all samples, in blocks, too, and a mean divides by them.
// CHECK-LABEL: graph.func private @block(%{{.*}}: tensor<32x6xf32>) -> tensor<32x6xf32>
// CHECK-LABEL: graph.func @loss(%{{.*}}: tensor<4x8x6xf32>)
// CHECK:         graph.reshape %{{.*}} : tensor<4x8x6xf32> -> tensor<32x6xf32>
// CHECK:         graph.reshape %{{.*}} : tensor<32x6xf32> -> tensor<16x12xf32>
// CHECK:         graph.reduce sum %{{.*}} dims [0, 1] scale 0.00520833{{.*}} : tensor<16x12xf32> -> tensor<f32>
graph.func private @block(%x: tensor<?x6xf32>) -> tensor<?x6xf32> {
  %0 = graph.tanh %x : tensor<?x6xf32>
  graph.return %0 : tensor<?x6xf32>
}
graph.func @loss(%x: tensor<?x8x6xf32>) -> tensor<f32> {
  %0 = graph.reshape %x : tensor<?x8x6xf32> -> tensor<?x6xf32>
  %1 = graph.call @block(%0) : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %2 = graph.reshape %1 : tensor<?x6xf32> -> tensor<?x12xf32>
  %3 = graph.reduce mean %2 dims [0, 1] : tensor<?x12xf32> -> tensor<f32>
  graph.return %3 : tensor<f32>
}
