// RUN: dtc-opt %s --dtc-set-precision=precision=bf16 --dtc-differentiate=micro-batches=2 --dtc-widen-gradients | FileCheck %s

// Gradients of layers leave the backward function of the block in f32, as do those that are added up: of a table that is read twice, of
// a vector that all layers share, from layer to layer. Those of activations stay narrow.
// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:    tensor<16x8xf32> {graph.gradient_of = @table}
// CHECK-SAME:    tensor<8xf32> {graph.gradient_of = @shared}
// CHECK-SAME:    !graph.stack<2 x tensor<8x8xf32>> {graph.gradient_of = @"h.{}.w"}
// CHECK:         %[[HEAD:.*]] = graph.linear_weight_grad {{.*}} -> tensor<16x8xf32>
// CHECK:         %[[ZERO:.*]] = graph.constant 0.0{{.*}} : tensor<8xf32>
// CHECK:         graph.repeat 2 reversed @block_backward(%{{.*}}, %[[ZERO]], {{.*}} -> (tensor<2x4x8xbf16>, tensor<8xf32>, !graph.stack<2 x tensor<8x8xf32>>)
// CHECK:         %[[LOOKUP:.*]] = graph.embedding_grad {{.*}} -> tensor<16x8xf32>
// CHECK:         graph.add {{.*}} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK-LABEL: graph.func private @block_backward
// CHECK-SAME:    %[[DY:.*]]: tensor<2x4x8xbf16>, %[[SUM:.*]]: tensor<8xf32>
// CHECK:         %[[BIAS:.*]] = graph.reduce sum %[[DY]] {{.*}} : tensor<2x4x8xbf16> -> tensor<8xf32>
// CHECK:         graph.linear_weight_grad {{.*}} -> tensor<8x8xf32>
// CHECK:         graph.add %[[SUM]], %[[BIAS]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
module {
  graph.parameter @table : tensor<16x8xf32> init ones
  graph.parameter @shared : tensor<8xf32> init ones
  graph.parameter @"h.{}.w" : tensor<8x8xf32> init ones repeats 2
  graph.func private @block(%x: tensor<2x4x8xf32>, %b: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<2x4x8xf32> {
    %y = graph.linear %x, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %z = graph.add %y, %b : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
    graph.return %z : tensor<2x4x8xf32>
  }
  graph.func @loss(%tokens: tensor<2x4xi32>, %targets: tensor<2x4xi32>) -> tensor<f32> {
    %table = graph.get @table : tensor<16x8xf32>
    %b = graph.get @shared : tensor<8xf32>
    %w = graph.get @"h.{}.w" : !graph.stack<2 x tensor<8x8xf32>>
    %x = graph.embedding %table, %tokens : (tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
    %y = graph.repeat 2 @block(%x, %b, %w) : (tensor<2x4x8xf32>, tensor<8xf32>, !graph.stack<2 x tensor<8x8xf32>>) -> tensor<2x4x8xf32>
    %logits = graph.linear %y, %table transposed : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %loss = graph.reduce sum %rows dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
