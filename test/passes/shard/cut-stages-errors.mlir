// RUN: dtc-opt %s --dtc-cut-stages -split-input-file -verify-diagnostics

// expected-error @+1 {{dtc-cut-stages needs '@microbatch' and '@update'; run dtc-partition first}}
module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {}

// -----

module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}) {
    // expected-error @+1 {{is in no chunk of the pipeline, which has 2; apply a plan with stages first}}
    %0 = graph.exp %x {graph.chunk = 2 : i64} : tensor<4xf32>
    %1 = graph.reduce sum %0 dims [0] {graph.chunk = 1 : i64} : tensor<4xf32> -> tensor<f32>
    graph.return %1 : tensor<f32>
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}) {
    // expected-error @+1 {{makes in chunk 1 of the pipeline what chunk 0 reads, whose forward pass is before it}}
    %0 = graph.exp %x {graph.chunk = 1 : i64} : tensor<4xf32>
    // expected-note @+1 {{it is read here}}
    %1 = graph.reduce sum %0 dims [0] {graph.chunk = 0 : i64} : tensor<4xf32> -> tensor<f32>
    graph.return %1 : tensor<f32>
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.func private @block(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    graph.return %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  graph.func private @other(%x: tensor<4xf32>, %all: tensor<4xf32>) -> tensor<4xf32> {
    %0 = graph.add %x, %all : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.return %0 : tensor<4xf32>
  }
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}) {
    // expected-error @+1 {{makes '!graph.stack<3 x tensor<4xf32>>' in chunk 0 of the pipeline, which another chunk reads; only tensors go from chunk to chunk}}
    %0:2 = graph.repeat 3 @block(%x) {graph.chunk = 0 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, !graph.stack<3 x tensor<4xf32>>)
    %1 = graph.repeat 3 @other(%x, %0#1) {graph.chunk = 1 : i64} : (tensor<4xf32>, !graph.stack<3 x tensor<4xf32>>) -> tensor<4xf32>
    %2 = graph.reduce sum %1 dims [0] {graph.chunk = 1 : i64} : tensor<4xf32> -> tensor<f32>
    graph.return %2 : tensor<f32>
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// A product of two gradients of different stages is no sum.
module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.parameter @a : tensor<4xf32> init zeros
  graph.parameter @b : tensor<4xf32> init zeros
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4xf32> {graph.gradient_of = @a}, tensor<4xf32> {graph.gradient_of = @b}) {
    %0 = graph.exp %x {graph.chunk = 0 : i64} : tensor<4xf32>
    %1 = graph.exp %0 {graph.chunk = 1 : i64} : tensor<4xf32>
    %2 = graph.reduce sum %1 dims [0] {graph.chunk = 1 : i64} : tensor<4xf32> -> tensor<f32>
    graph.return %2, %0, %1 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %a: tensor<4xf32> {graph.gradient_of = @a}, %b: tensor<4xf32> {graph.gradient_of = @b}) {
    // expected-error @+1 {{reads tensors of different stages of the pipeline, of which none has all; only sums and scalars go from stage to stage in '@update'}}
    %0 = graph.multiply %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.set @a, %0 : tensor<4xf32>
    graph.return
  }
}
