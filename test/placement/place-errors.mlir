// RUN: dtc-opt %s --dtc-place -split-input-file -verify-diagnostics

// expected-error @+1 {{the module has no 'shard.grid @mesh'; run dtc-set-mesh or apply a plan first}}
module {}

// -----

// expected-error @+1 {{placing needs '@microbatch' and '@update'; run dtc-differentiate and dtc-add-optimizer first}}
module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
}

// -----

module {
  shard.grid @mesh(shape = 4x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  // expected-error @+1 {{has a batch of 6 samples, which dp = 4 does not divide}}
  graph.func @microbatch(%x: tensor<6x4xf32> {graph.input = "tokens"}) {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// What is decided already is checked before it is used.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens"}) {
    // expected-error @+1 {{has 2 loops, so it can't be split along loop 5}}
    %0 = graph.exp %x {graph.splits = array<i64: -1, 5>} : tensor<8x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens"}) {
    graph.return
  }
  // expected-error @+1 {{has argument 0, which is not a gradient or sum that '@microbatch' returns}}
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Layers are one block, partitioned once.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @"h.0.w" : tensor<4x4xf32> init zeros placement <[replicate, shard(0)]>
  // expected-error @+1 {{parameter 'h.1.w' is placed otherwise than 'h.0.w', which the same block reads as the same argument; give both the same placement}}
  graph.parameter @"h.1.w" : tensor<4x4xf32> init zeros placement <[replicate, shard(1)]>
  graph.func private @layer(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
    %0 = graph.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    graph.return %0 : tensor<8x4xf32>
  }
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens"}) -> (tensor<8x4xf32> {graph.accumulated = "loss"}) {
    %w0 = graph.get @"h.0.w" : tensor<4x4xf32>
    %w1 = graph.get @"h.1.w" : tensor<4x4xf32>
    %0 = graph.call @layer(%x, %w0) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = graph.call @layer(%0, %w1) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    graph.return %1 : tensor<8x4xf32>
  }
  graph.func @update(%loss: tensor<8x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
