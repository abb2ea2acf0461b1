// The gradient of an op is in its chunk of the pipeline, whichever op of a later chunk it comes from; sums of gradients are
// where the last is added.
// RUN: dtc-opt %s --dtc-differentiate | FileCheck %s

graph.parameter @a : tensor<4xf32> init ones
graph.parameter @"h.{}.w" : tensor<4xf32> init ones repeats 2
graph.func private @block(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = graph.multiply %x, %w : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  graph.return %0 : tensor<2x4xf32>
}
// CHECK-LABEL: graph.func @microbatch
// CHECK-NOT:   graph.get {{.*}}graph.chunk
// CHECK:       graph.multiply {{.*}} {graph.chunk = 0 : i64}
// CHECK:       graph.repeat 2 @block_forward({{.*}}) {graph.chunk = 1 : i64}
// CHECK:       graph.add {{.*}} {graph.chunk = 2 : i64}
// CHECK:       graph.reduce sum {{.*}} {graph.chunk = 2 : i64}
// CHECK-NOT:   graph.constant {{.*}}graph.chunk
// CHECK:       graph.broadcast {{.*}} {graph.chunk = 2 : i64}
// CHECK:       graph.repeat 2 reversed @block_backward({{.*}}) {graph.chunk = 1 : i64}
// CHECK-NEXT:  %[[SUM:.*]] = graph.add {{.*}} {graph.chunk = 1 : i64}
// CHECK-NEXT:  graph.multiply %[[SUM]], {{.*}} {graph.chunk = 0 : i64}
graph.func @loss(%x: tensor<2x4xf32> {graph.input = "x"}) -> tensor<f32> {
  %a = graph.get @a : tensor<4xf32>
  %w = graph.get @"h.{}.w" : !graph.stack<2 x tensor<4xf32>>
  %0 = graph.multiply %x, %a {graph.chunk = 0 : i64} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = graph.repeat 2 @block(%0, %w) {graph.chunk = 1 : i64} : (tensor<2x4xf32>, !graph.stack<2 x tensor<4xf32>>) -> tensor<2x4xf32>
  %2 = graph.add %1, %0 {graph.chunk = 2 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = graph.reduce sum %2 dims [0, 1] {graph.chunk = 2 : i64} : tensor<2x4xf32> -> tensor<f32>
  graph.return %3 : tensor<f32>
}
