// RUN: dtc-opt %s -dtc-instantiate-blocks -split-input-file -verify-diagnostics

graph.func private @block(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-note @+1 {{it is declared here}}
  %w = graph.param "w" ones : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  %y = graph.call @block(%x) under "a" : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // expected-error @+1 {{parameter 'a.w' is there twice; give one of them another name, or its block another prefix ('under')}}
  %z = graph.call @block(%y) under "a" : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %z dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

graph.func private @block(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = graph.param "w" ones : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{repeats 'block', which declares parameter "w", but does not say under which names; write under "PREFIX.{}"}}
  %y = graph.repeat 2 @block(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

graph.func private @block(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = graph.param "h.{0:2}.w" ones : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{calls 'block' once, which declares parameter "h.{0:2}.w"; '{}' is for the blocks of 'graph.repeat'}}
  %y = graph.call @block(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

graph.func private @block(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = graph.param "{0:2}.w" ones : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{repeats 'block', whose parameter "{0:2}.w" has the number of the execution; leave '{}' out of 'under'}}
  %y = graph.repeat 2 @block(%x) under "h.{}" : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

graph.func private @a(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = graph.call @b(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func private @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{makes 'a' contain itself; blocks have no recursion}}
  %y = graph.call @a(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  %y = graph.call @a(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

graph.func private @inner(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = graph.exp %x : tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func private @outer(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{puts 2 ops 60000 times into the block around it, which may get at most 65536; repeat it in '@loss'}}
  %y = graph.repeat 60000 @inner(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  %y = graph.call @outer(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}
