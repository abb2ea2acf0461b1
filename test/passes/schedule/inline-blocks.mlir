// Blocks take the place of their calls and repeats; upstream's CSE removes what is not used and merges what is equal.
// RUN: dtc-opt %s -dtc-inline-blocks -cse | FileCheck %s

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

// A parameter with repeats becomes as many, in the order of the layers where several follow each other; so does state.
// CHECK: graph.parameter @h.0.w : tensor<4xf32>
// CHECK: graph.parameter @h.0.b : tensor<4xf32>
// CHECK: graph.parameter @h.1.w : tensor<4xf32>
// CHECK: graph.parameter @h.1.b : tensor<4xf32>
// CHECK-NOT: repeats
graph.parameter @"h.{}.w" : tensor<4xf32> init ones repeats 2
graph.parameter @"h.{}.b" : tensor<4xf32> init zeros repeats 2
// CHECK: graph.state @h.0.w.momentum of @h.0.w
// CHECK: graph.state @h.1.w.momentum of @h.1.w
graph.state @"h.{}.w.momentum" of @"h.{}.w" : tensor<4xf32>

graph.func private @layer(%x: tensor<4xf32>, %one: tensor<4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.multiply %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.add %1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.dropout %2 p 0.5 id 1 key(%seed, %step) : tensor<4xf32>
  graph.return %3, %1 : tensor<4xf32>, tensor<4xf32>
}
graph.func private @back(%g: tensor<4xf32>, %kept: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.multiply %g, %kept : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  graph.return %0, %g : tensor<4xf32>, tensor<4xf32>
}

// What is carried goes through the executions, the last of which is first where it is reversed; stacks are read and filled
// entry by entry, and each execution has an instance of its own.
// CHECK-LABEL: graph.func @stacks
// CHECK-SAME:  (%[[X:.*]]: tensor<4xf32>, %[[ONE:.*]]: tensor<4xf32>, %[[S0:.*]]: tensor<4xf32> {graph.gradient_of = @h.0.w}, %[[S1:.*]]: tensor<4xf32> {graph.gradient_of = @h.1.w})
// CHECK-SAME:  -> (tensor<4xf32>, tensor<4xf32> {graph.gradient_of = @h.0.b}, tensor<4xf32> {graph.gradient_of = @h.1.b})
graph.func @stacks(%x: tensor<4xf32>, %one: tensor<4xf32>, %sums: !graph.stack<2 x tensor<4xf32>> {graph.gradient_of = @"h.{}.w"})
    -> (tensor<4xf32>, !graph.stack<2 x tensor<4xf32>> {graph.gradient_of = @"h.{}.b"}) {
  %seed = graph.input seed : tensor<i64>
  %step = graph.input step : tensor<f32>
  // CHECK: %[[W0:.*]] = graph.get @h.0.w
  // CHECK: %[[W1:.*]] = graph.get @h.1.w
  // CHECK: %[[B0:.*]] = graph.get @h.0.b
  // CHECK: %[[B1:.*]] = graph.get @h.1.b
  %w = graph.get @"h.{}.w" : !graph.stack<2 x tensor<4xf32>>
  %b = graph.get @"h.{}.b" : !graph.stack<2 x tensor<4xf32>>
  // CHECK: %[[P0:.*]] = graph.multiply %[[X]], %[[W0]]
  // CHECK: %[[K0:.*]] = graph.add %[[P0]], %[[B0]]
  // CHECK: %[[O0:.*]] = graph.add %[[K0]], %[[ONE]]
  // CHECK: %[[D0:.*]] = graph.dropout %[[O0]] p 5.000000e-01 id 196609 key
  // CHECK: %[[P1:.*]] = graph.multiply %[[D0]], %[[W1]]
  // CHECK: %[[K1:.*]] = graph.add %[[P1]], %[[B1]]
  // CHECK: %[[O1:.*]] = graph.add %[[K1]], %[[ONE]]
  // CHECK: %[[D1:.*]] = graph.dropout %[[O1]] p 5.000000e-01 id 262145 key
  %y:2 = graph.repeat 2 @layer(%x, %one, %w, %b, %seed, %step) instance 3
    : (tensor<4xf32>, tensor<4xf32>, !graph.stack<2 x tensor<4xf32>>, !graph.stack<2 x tensor<4xf32>>, tensor<i64>, tensor<f32>)
    -> (tensor<4xf32>, !graph.stack<2 x tensor<4xf32>>)
  // CHECK: %[[G1:.*]] = graph.multiply %[[D1]], %[[K1]]
  // CHECK: %[[G0:.*]] = graph.multiply %[[G1]], %[[K0]]
  %g:2 = graph.repeat 2 reversed @back(%y#0, %y#1) : (tensor<4xf32>, !graph.stack<2 x tensor<4xf32>>) -> (tensor<4xf32>, !graph.stack<2 x tensor<4xf32>>)
  // CHECK: graph.set @h.0.w, %[[S0]]
  // CHECK: graph.set @h.1.w, %[[S1]]
  graph.set @"h.{}.w", %sums : !graph.stack<2 x tensor<4xf32>>
  // CHECK: graph.return %[[G0]], %[[G1]], %[[D1]]
  graph.return %g#0, %g#1 : tensor<4xf32>, !graph.stack<2 x tensor<4xf32>>
}
