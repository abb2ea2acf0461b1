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
  // expected-error @+1 {{needs 'graph.placement' with an entry for each of the 2 mesh axes on argument 0; run dtc-place first}}
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens"}) {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 4x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>}) {
    // expected-error @+1 {{needs 'graph.splits' with an entry for each of the 2 mesh axes; run dtc-place first}}
    %0 = graph.exp %x {graph.splits = array<i64: 0>} : tensor<8x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<6x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>}) {
    // expected-error @+1 {{can't be split along loop 0 into 4 parts: its rule does not allow it}}
    %0 = graph.exp %x {graph.splits = array<i64: 0, 0>} : tensor<6x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// Query heads of a kv head can be split where a rank has one kv head, and nowhere else.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%q: tensor<4x4x4x8xf32> {graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate]>}) {
    %k = graph.slice %q dim 2 start 0 size 2 {graph.splits = array<i64: -1, -1>} : tensor<4x4x4x8xf32> -> tensor<4x4x2x8xf32>
    // expected-error @+1 {{can't be split along loop 2 into 2 parts: its rule does not allow it}}
    %a, %lse = graph.attention %q, %k, %k scale 1.0 {graph.splits = array<i64: -1, 2>} : (tensor<4x4x4x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>) -> (tensor<4x4x4x8xf32>, tensor<4x4x4xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate]>}) {
    // expected-error @+1 {{does not commute with sums, so its operands can't stay partial}}
    %0 = graph.exp %x {graph.splits = array<i64: -1, -2>} : tensor<8x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// A maximum over ranks is not a term of a sum.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate]>}) {
    %0 = graph.reduce max %x dims [1] {graph.splits = array<i64: -1, 1>} : tensor<8x4xf32> -> tensor<8xf32>
    // expected-error @+1 {{has a maximum as operand that can't stay partial in a sum}}
    %1 = graph.scale %0 by 2.0 {graph.splits = array<i64: -1, -2>} : tensor<8xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.func @microbatch(%x: tensor<6x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>}) {
    // expected-error @+1 {{is split into 4 parts along its 6 samples, for which they would have to leave their ranks of data parallelism}}
    %0 = graph.negate %x {graph.splits = array<i64: 0, 0>} : tensor<6x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  graph.func @microbatch(%q: tensor<2x8x4x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate]>}, %m: tensor<2xi32> {graph.input = "more", graph.placement = #graph.placement<[replicate, replicate]>}) {
    // expected-error @+1 {{has positions of its own, which dtc can't compile with cp_kind=all-gather yet; plan with --fix cp_kind=all-to-all}}
    %a, %lse = graph.attention %q, %q, %q starts %m causal scale 1.0 {graph.splits = array<i64: -1, 3>} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2xi32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module attributes {graph.key_travel = "ring"} {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  graph.func @microbatch(%q: tensor<2x8x4x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate]>}, %m: tensor<2xi32> {graph.input = "more", graph.placement = #graph.placement<[replicate, replicate]>}) {
    // expected-error @+1 {{has a causal mask with lengths, which dtc can't compile with cp_kind=ring yet; plan with --fix cp_kind=all-to-all}}
    %a, %lse = graph.attention %q, %q, %q lengths %m causal scale 1.0 {graph.splits = array<i64: -1, 3>} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2xi32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  graph.func @microbatch(%q: tensor<2x8x4x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate]>}, %m: tensor<2x8xi32> {graph.input = "more", graph.placement = #graph.placement<[replicate, replicate]>}) {
    // expected-error @+1 {{has documents, which dtc can't compile with cp_kind=all-gather yet; plan with --fix cp_kind=all-to-all}}
    %a, %lse = graph.attention %q, %q, %q documents %m scale 1.0 {graph.splits = array<i64: -1, 3>} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8xi32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----

// Each of 2 ranks has two runs of 3 tokens, which two others cannot halve.
module attributes {graph.key_travel = "gather"} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["cp", "tp"], graph.axis_roles = ["context", "tensor"]}
  graph.func @microbatch(%x: tensor<2x12x4xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(1, zigzag), replicate]>}) {
    // expected-error @+1 {{can't split dim 1 of 'tensor<2x12x4xf32>' into 8 equal runs of tokens in zigzag order; use another tp or cp}}
    %y = graph.exp %x {graph.splits = array<i64: 1, 1>} : tensor<2x12x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}
