// RUN: dtc-opt %s --dtc-split-repeats=at=1 -split-input-file -verify-diagnostics

// expected-error @+1 {{the module has no function '@loss' whose layers could be split}}
module {}

// -----

graph.func private @block(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{gives stacks, so that its layers can't be treated differently; carry what the model needs of each execution}}
  %0, %all = graph.repeat 2 @block(%x) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return %0 : tensor<?x4xf32>
}

// -----

graph.parameter @"h.{}.a" : tensor<4xf32> init ones repeats 2
graph.func private @block(%x: tensor<?x4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  graph.return %x : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = graph.get @"h.{}.a" : !graph.stack<2 x tensor<4xf32>>
  // expected-error @+1 {{reads a stack that is no parameter of its own, so that its layers can't be treated differently; give it parameters of its own}}
  %0 = graph.repeat 2 @block(%x, %a, %a) : (tensor<?x4xf32>, !graph.stack<2 x tensor<4xf32>>, !graph.stack<2 x tensor<4xf32>>) -> tensor<?x4xf32>
  graph.return %0 : tensor<?x4xf32>
}
