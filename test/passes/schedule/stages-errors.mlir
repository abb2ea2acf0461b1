// What the module of a stage lacks.
// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file -verify-diagnostics

// expected-error @+1 {{is stage 0 of a pipeline, but has no 'graph.order'}}
module attributes {graph.stage = 0 : i64} {
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// expected-error @+1 {{has 'graph.order' with 1 of 2 micro-batches of chunk 0}}
module attributes {graph.stage = 0 : i64, graph.micro_batches = 2 : i64, graph.order = array<i64: 0, 0, 0>} {
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// expected-error @+1 {{has 'graph.order' with 7 of chunk 0 and micro-batch 0, which is of no kind, one of 1 too many, or there twice}}
module attributes {graph.stage = 0 : i64, graph.order = array<i64: 7, 0, 0>} {
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// expected-error @+1 {{is of a stage, but no axis of the mesh has the role 'pipeline'}}
module attributes {graph.stage = 0 : i64, graph.order = array<i64: 0, 0, 0>} {
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// A send that stands at the stage that receives.
module attributes {graph.stage = 1 : i64, graph.stage_of_chunk = array<i64: 0, 1>, graph.order = array<i64: 0, 1, 0>} {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["pp"], graph.axis_roles = ["pipeline"]}
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) {
    // expected-error @+1 {{goes from stage 0 to 1, but stands in the module of stage 1}}
    graph.send %x chunk 0 to 1 "hidden" {graph.chunk = 1 : i64, graph.phase = "forward"} : tensor<4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module attributes {graph.stage = 1 : i64, graph.stage_of_chunk = array<i64: 0, 1>, graph.order = array<i64: 0, 1, 0>} {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["pp"], graph.axis_roles = ["pipeline"]}
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) {
    // expected-error @+1 {{names chunk 2, of which 'graph.stage_of_chunk' says no stage}}
    graph.send %x chunk 1 to 2 "hidden" {graph.chunk = 1 : i64, graph.phase = "forward"} : tensor<4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module attributes {graph.stage = 1 : i64, graph.stage_of_chunk = array<i64: 0, 1>, graph.order = array<i64: 0, 1, 0>} {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["pp"], graph.axis_roles = ["pipeline"]}
  graph.parameter @w : tensor<4xf32> init zeros
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) -> (tensor<4xf32> {graph.gradient_of = @w}) {
    graph.return %x : tensor<4xf32>
  }
  graph.func @update(%dw: tensor<4xf32> {graph.gradient_of = @w}) {
    // expected-error @+1 {{is over stage 2; the mesh has 2}}
    %sum = graph.stage_reduce sum %dw stages [1, 2] <gradient> : tensor<4xf32>
    graph.set @w, %sum : tensor<4xf32>
    graph.return
  }
}

// -----

module attributes {graph.stage = 0 : i64, graph.stage_of_chunk = array<i64: 0, 1>, graph.order = array<i64: 0, 0, 0, 6, 0, 0>} {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["pp"], graph.axis_roles = ["pipeline"]}
  graph.func @microbatch(%x: tensor<4xf32> {graph.input = "x"}) {
    // expected-error @+1 {{is of chunk 0, for which 'graph.order' of its stage has no such transfer, while it has others}}
    graph.send %x chunk 0 to 1 "hidden" {graph.chunk = 0 : i64, graph.phase = "forward"} : tensor<4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}
