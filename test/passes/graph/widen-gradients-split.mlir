// RUN: dtc-opt %s --dtc-split-repeats=at=1 --dtc-set-precision=precision=bf16 --dtc-differentiate --dtc-widen-gradients | FileCheck %s

// The parts of a split repeat share the backward function of their block: its gradients leave it in f32 once, for the stacks of both
// parts, and what both add up of a vector that all layers share is added up in f32.
// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:    tensor<8xf32> {graph.gradient_of = @shared}
// CHECK-SAME:    !graph.stack<1 x tensor<8x8xf32>> {graph.gradient_of = @"h.{}.w"}
// CHECK-SAME:    !graph.stack<2 x tensor<8x8xf32>> {graph.gradient_of = @"h.{1}.w"}
// CHECK:         %[[LAST:.*]]:3 = graph.repeat 2 reversed @block_backward({{.*}} -> (tensor<2x8xbf16>, tensor<8xf32>, !graph.stack<2 x tensor<8x8xf32>>)
// CHECK:         %[[FIRST:.*]]:3 = graph.repeat 1 reversed @block_backward({{.*}} -> (tensor<2x8xbf16>, tensor<8xf32>, !graph.stack<1 x tensor<8x8xf32>>)
// CHECK:         %[[SUM:.*]] = graph.add %[[LAST]]#1, %[[FIRST]]#1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK:         graph.return %{{.*}}, %[[SUM]], %[[FIRST]]#2, %[[LAST]]#2, %{{.*}} :
module {
  graph.parameter @shared : tensor<8xf32> init ones
  graph.parameter @"h.{}.w" : tensor<8x8xf32> init ones repeats 3
  graph.parameter @start : tensor<8xf32> init ones
  graph.func private @block(%x: tensor<2x8xf32>, %b: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<2x8xf32> {
    %y = graph.linear %x, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %z = graph.add %y, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    graph.return %z : tensor<2x8xf32>
  }
  graph.func @loss(%input: tensor<2x8xf32>) -> tensor<f32> {
    %start = graph.get @start : tensor<8xf32>
    %b = graph.get @shared : tensor<8xf32>
    %w = graph.get @"h.{}.w" : !graph.stack<3 x tensor<8x8xf32>>
    %x = graph.add %input, %start : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    %y = graph.repeat 3 @block(%x, %b, %w) : (tensor<2x8xf32>, tensor<8xf32>, !graph.stack<3 x tensor<8x8xf32>>) -> tensor<2x8xf32>
    %loss = graph.reduce sum %y dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
