// RUN: dtc-opt %s --dtc-differentiate=micro-batches=2 --canonicalize --cse | FileCheck %s

module @tiny {
  graph.parameter @emb : tensor<8x6xf32> init normal(0.0, 0.02)
  graph.parameter @w : tensor<6x6xf32> init normal(0.0, 0.02)
  graph.parameter @unused : tensor<3xf32> init zeros

  graph.func private @block(%x: tensor<2x4x6xf32>, %w: tensor<6x6xf32>) -> tensor<2x4x6xf32> {
    %0 = graph.linear %x, %w : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
    %1 = graph.silu %0 : tensor<2x4x6xf32>
    %2 = graph.add %x, %1 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    graph.return %2 : tensor<2x4x6xf32>
  }

  // The block is differentiated once and called twice; the gradients of @w add up, @unused has none, and all is
  // divided by the two micro-batches.
  // CHECK-LABEL: graph.func @microbatch
  // CHECK-SAME:  %tokens: tensor<2x4xi32> {graph.below = 8 : i64, graph.input = "tokens"}
  // CHECK-SAME:  %targets: tensor<2x4xi32> {graph.below = 8 : i64, graph.input = "targets"}
  // CHECK-SAME:  {graph.accumulated = "loss"}
  // CHECK-SAME:  tensor<8x6xf32> {graph.gradient_of = @emb}, tensor<6x6xf32> {graph.gradient_of = @w}) {
  // CHECK-DAG:   graph.constant 6.250000e-02 : tensor<2x4xf32>
  // CHECK:       graph.call @block_forward({{.*}}) :
  // CHECK:       graph.call @block_forward({{.*}}) instance 1
  // CHECK:       graph.call @block_backward({{.*}}) instance 1
  // CHECK:       graph.call @block_backward({{.*}}) :
  // CHECK:       graph.embedding_grad {{.*}} padding 3 :
  // CHECK:       graph.scale {{.*}} by 5.000000e-01
  graph.func @loss(%tokens: tensor<2x4xi32>, %targets: tensor<2x4xi32>) -> tensor<f32> {
    %e = graph.get @emb : tensor<8x6xf32>
    %w = graph.get @w : tensor<6x6xf32>
    %0 = graph.embedding %e, %tokens padding 3 : (tensor<8x6xf32>, tensor<2x4xi32>) -> tensor<2x4x6xf32>
    %1 = graph.call @block(%0, %w) : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
    %2 = graph.call @block(%1, %w) instance 1 : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
    %3 = graph.linear %2, %e transposed : (tensor<2x4x6xf32>, tensor<8x6xf32>) -> tensor<2x4x8xf32>
    %l, %lse = graph.cross_entropy %3, %targets : (tensor<2x4x8xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %m = graph.reduce sum %l dims [0, 1] scale 0.125 : tensor<2x4xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }

  // A block becomes a forward function that also returns what backward needs, and a backward function.
  // CHECK-LABEL: graph.func private @block_forward
  // CHECK-SAME:  (%[[X:.*]]: tensor<2x4x6xf32>, %[[W:.*]]: tensor<6x6xf32>) -> (tensor<2x4x6xf32>, tensor<2x4x6xf32> {graph.saved})
  // CHECK:       %[[H:.*]] = graph.linear %[[X]], %[[W]]
  // CHECK:       %[[S:.*]] = graph.silu %[[H]]
  // CHECK:       %[[Y:.*]] = graph.add %[[X]], %[[S]]
  // CHECK:       graph.return %[[Y]], %[[H]]

  // CHECK-LABEL: graph.func private @block_backward
  // CHECK:       graph.silu_grad
  // CHECK:       graph.linear_weight_grad
}
