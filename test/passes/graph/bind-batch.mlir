// RUN: dtc-opt %s --dtc-bind-batch=batch=4 | FileCheck %s

// The dynamic batch gets its size everywhere; a mean keeps what it divides by.
// CHECK-LABEL: graph.func @mean
// CHECK-SAME:  (%[[X:.*]]: tensor<4x8xf32>) -> tensor<f32>
graph.func @mean(%x: tensor<?x8xf32>) -> tensor<f32> {
  // CHECK: graph.reduce sum %[[X]] dims [0, 1] scale 3.125000e-02 : tensor<4x8xf32> -> tensor<f32>
  %0 = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %0 : tensor<f32>
}
