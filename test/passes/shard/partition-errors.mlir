// RUN: dtc-opt %s --dtc-partition -split-input-file -verify-diagnostics

// expected-error @+1 {{the module has no 'shard.grid @mesh'; run dtc-set-mesh or apply a plan first}}
module {}

// -----

// expected-error @+1 {{partitioning needs '@microbatch' and '@update'; run dtc-differentiate and dtc-add-optimizer first}}
module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
}

// -----

module {
  // expected-error @+1 {{needs 'graph.axis_names' with one name for each of its 2 axes}}
  shard.grid @mesh(shape = 2x1)
}

// -----

module {
  // expected-error @+1 {{needs 'graph.axis_roles' with one role for each of its 2 axes}}
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"]}
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
