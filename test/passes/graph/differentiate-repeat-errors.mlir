// RUN: dtc-opt %s --dtc-differentiate -split-input-file -verify-diagnostics

graph.parameter @"h.{}.w" : tensor<6xf32> init ones repeats 2
graph.func private @block(%x: tensor<2x6xf32>, %w: tensor<6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %0 = graph.multiply %x, %w : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  graph.return %0, %0 : tensor<2x6xf32>, tensor<2x6xf32>
}
graph.func @loss(%x: tensor<2x6xf32> {graph.input = "x"}) -> tensor<f32> {
  %ws = graph.get @"h.{}.w" : !graph.stack<2 x tensor<6xf32>>
  // expected-error @+1 {{returns stacks, which have no gradient; carry what the model needs of each execution}}
  %y:2 = graph.repeat 2 @block(%x, %ws) : (tensor<2x6xf32>, !graph.stack<2 x tensor<6xf32>>) -> (tensor<2x6xf32>, !graph.stack<2 x tensor<2x6xf32>>)
  %m = graph.reduce sum %y#0 dims [0, 1] : tensor<2x6xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}

// -----

graph.parameter @"h.{}.w" : tensor<6xf32> init ones repeats 2
graph.func private @block(%x: tensor<2x6xf32>, %w: tensor<6xf32>) -> tensor<2x6xf32> {
  %0 = graph.multiply %x, %w : (tensor<2x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  graph.return %0 : tensor<2x6xf32>
}
graph.func @loss(%x: tensor<2x6xf32> {graph.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{a stack of parameters that two repeats read has no gradient; give each repeat parameters of its own}}
  %ws = graph.get @"h.{}.w" : !graph.stack<2 x tensor<6xf32>>
  %y = graph.repeat 2 @block(%x, %ws) : (tensor<2x6xf32>, !graph.stack<2 x tensor<6xf32>>) -> tensor<2x6xf32>
  %z = graph.repeat 2 @block(%y, %ws) : (tensor<2x6xf32>, !graph.stack<2 x tensor<6xf32>>) -> tensor<2x6xf32>
  %m = graph.reduce sum %z dims [0, 1] : tensor<2x6xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}
