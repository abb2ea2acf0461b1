// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse -split-input-file | FileCheck %s

// Ranks of context parallelism exchange parts of the sequence for heads, inside of those of tensor parallelism.
module {
  shard.grid @mesh(shape = 1x2x2) {graph.axis_names = ["dp", "cp", "tp"], graph.axis_roles = ["data", "context", "tensor"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<2x4x4x4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[H:.*]] = shard.all_to_all %{{.*}} on @mesh grid_axes = [1] split_axis = 2 concat_axis = 1 {graph.communication = #graph.communication<activation>} : tensor<2x4x2x4xf32> -> tensor<2x8x1x4xf32>
    // CHECK: %[[O:.*]], %{{.*}} = graph.attention %[[H]], %[[H]], %[[H]] causal
    // CHECK: shard.all_to_all %[[O]] on @mesh grid_axes = [1] split_axis = 1 concat_axis = 2 {graph.communication = #graph.communication<activation>} : tensor<2x8x1x4xf32> -> tensor<2x4x2x4xf32>
    %0 = graph.exchange %q from 1 to 2 {graph.splits = array<i64: -1, 2, 2>} : tensor<2x8x4x4xf32>
    %1, %lse = graph.attention %0, %0, %0 causal scale 1.0 {graph.splits = array<i64: -1, 1, 1>} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    %2 = graph.exchange %1 from 2 to 1 {graph.splits = array<i64: -1, 1, 2>} : tensor<2x8x4x4xf32>
    graph.return %2 : tensor<2x8x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Attention of a part of the queries gathers keys and values; the ones in front of the part are a length.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<2x4x4x4xf32> {{.*}}: tensor<2x4x2x4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x8x4x4xf32>, %k: tensor<2x8x2x4xf32>) -> (tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[K:.*]] = shard.all_gather %{{.*}} on @mesh grid_axes = [1] gather_axis = 1 {{.*}} : tensor<2x4x2x4xf32> -> tensor<2x8x2x4xf32>
    // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale 1.{{0*e\+00}}
    // CHECK: %[[S:.*]] = graph.chunk_starts size 4 {windows = [#graph.window<loop = 1, local = 1, global = 2, axes = [1]>]} : tensor<2x1xi32>
    // CHECK: %[[L:.*]] = graph.reshape %[[S]] : tensor<2x1xi32> -> tensor<2xi32>
    // CHECK: graph.attention %{{.*}}, %[[K]], %[[K]] lengths %[[L]] scale 1.{{0*e\+00}}
    // CHECK: graph.point sigmoid
    %0, %lse = graph.attention %q, %k, %k causal scale 1.0 : (tensor<2x8x4x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return %0 : tensor<2x8x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Sinks are of a rank's own keys alone, so that the joined sum of exponentials has them once.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x8x4x4xf32>, %z: tensor<4xf32>) -> (tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: graph.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} sinks %{{[^ ]*}} causal scale 1.{{0*e\+00}}
    // CHECK: graph.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} lengths %{{[^ ]*}} scale 1.{{0*e\+00}}
    %0, %lse = graph.attention %q, %q, %q sinks %z causal scale 1.0 : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return %0 : tensor<2x8x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Gradients of keys and values are sums over the queries of all ranks, which are added up where the keys are.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%q: tensor<2x8x2x4xf32>, %lse: tensor<2x2x8xf32>) -> (tensor<2x8x2x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %{{.*}}, %[[OWN:.*]], %{{.*}} = graph.attention_grad {{.*}} causal
    // CHECK: %{{.*}}, %[[K:.*]], %{{.*}} = graph.attention_grad {{.*}} lengths
    // CHECK: %[[REST:.*]] = shard.reduce_scatter %[[K]] on @mesh grid_axes = [1] scatter_axis = 1 {graph.communication = #graph.communication<activation>} : tensor<2x8x2x4xf32> -> tensor<2x4x2x4xf32>
    // CHECK: graph.add %[[OWN]], %[[REST]]
    %dq, %dk, %dv = graph.attention_grad %q, %q, %q, %q, %lse, %q causal scale 1.0
      : (tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x2x8xf32>, tensor<2x8x2x4xf32>)
      -> (tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>)
    graph.return %dk : tensor<2x8x2x4xf32>
  }
  graph.func @update(%loss: tensor<2x8x2x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Ranks have two runs of tokens each, from both ends of the sequence. The
// own keys know their own run alone; each run has a length of its own for all keys, which are in order.
module attributes {graph.key_travel = "gather"} {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<2x4x4x4xf32> {{.*}}: tensor<2x4x2x4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x8x4x4xf32>, %k: tensor<2x8x2x4xf32>) -> (tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[G:.*]] = shard.all_gather %{{.*}} on @mesh grid_axes = [1] gather_axis = 1
    // CHECK: %[[B:.*]] = graph.slice %[[G]] dim 1 start 4 size 4
    // CHECK: %[[K:.*]] = graph.concat %{{.*}}, %[[B]], %{{.*}} dim 1
    // CHECK: %[[OWN:.*]] = graph.reshape %{{.*}} : tensor<2x4x2x4xf32> -> tensor<4x2x2x4xf32>
    // CHECK: graph.attention %{{.*}}, %[[OWN]], %[[OWN]] causal
    // CHECK: graph.chunk_starts size 2 {windows = [#graph.window<loop = 1, local = 2, global = 4, axes = [1] zigzag 1>]} : tensor<2x2xi32>
    // CHECK-COUNT-2: graph.attention %{{.*}}, %[[K]], %[[K]] lengths
    %0, %lse = graph.attention %q, %k, %k causal scale 1.0 : (tensor<2x8x4x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return %0 : tensor<2x8x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// In a ring they pass by. A rank sends them on before it computes with them.
module attributes {graph.key_travel = "ring"} {
  shard.grid @mesh(shape = 1x3) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<2x4x4x4xf32> {{.*}}: tensor<2x4x2x4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x12x4x4xf32>, %k: tensor<2x12x2x4xf32>, %v: tensor<2x12x2x4xf32>) -> (tensor<2x12x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[K1:.*]] = shard.shift %[[K0:.*]] on @mesh grid_axes = [1] shift_axis = 1 offset = 1 rotate {graph.communication = #graph.communication<activation async use 1>} : tensor<2x4x2x4xf32>
    // CHECK: %[[V1:.*]] = shard.shift %[[V0:.*]] on @mesh
    // CHECK: graph.attention %{{.*}}, %[[K0]], %[[V0]] causal
    // CHECK: %[[K2:.*]] = shard.shift %[[K1]] on @mesh
    // CHECK: %[[V2:.*]] = shard.shift %[[V1]] on @mesh
    // CHECK: graph.chunk_starts size 2 within [0, 2]
    // CHECK: graph.attention %{{.*}}, %[[K1]], %[[V1]] lengths
    // CHECK: graph.chunk_starts size 2 offset -6 within [2, 4]
    // CHECK: graph.attention %{{.*}}, %[[K1]], %[[V1]] lengths
    // CHECK: graph.chunk_starts size 2 offset -2 within [0, 2]
    // CHECK: graph.attention %{{.*}}, %[[K2]], %[[V2]] lengths
    // CHECK: graph.chunk_starts size 2 offset -4 within [2, 4]
    // CHECK: graph.attention %{{.*}}, %[[K2]], %[[V2]] lengths
    // CHECK-NOT: shard.shift
    %0, %lse = graph.attention %q, %k, %v causal scale 1.0 : (tensor<2x12x4x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>) -> (tensor<2x12x4x4xf32>, tensor<2x4x12xf32>)
    graph.return %0 : tensor<2x12x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x12x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Windows count positions: each run meets all gathered keys at its own position.
module attributes {graph.key_travel = "gather"} {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<2x4x4x4xf32> {{.*}}: tensor<2x4x2x4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x8x4x4xf32>, %k: tensor<2x8x2x4xf32>) -> (tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[G:.*]] = shard.all_gather %{{.*}} on @mesh grid_axes = [1] gather_axis = 1
    // CHECK: %[[K:.*]] = graph.concat
    // CHECK: %[[Q0:.*]] = graph.slice %{{.*}} dim 1 start 0 size 2
    // CHECK: %[[OF_Q:.*]] = graph.chunk_starts size 2 {windows
    // CHECK: %[[FIRST:.*]] = graph.slice %[[OF_Q]] dim 1 start 0 size 1
    // CHECK: %[[AT_Q:.*]] = graph.reshape %[[FIRST]]
    // CHECK: graph.chunk_starts size 2 within [0, 0]
    // CHECK: %[[AT_K:.*]] = graph.reshape
    // CHECK: %[[AT:.*]] = graph.concat %[[AT_Q]], %[[AT_K]] dim 0
    // CHECK: graph.attention %[[Q0]], %[[K]], %[[K]] starts %[[AT]] causal sliding 3
    // CHECK: %[[Q1:.*]] = graph.slice %{{.*}} dim 1 start 2 size 2
    // CHECK: graph.attention %[[Q1]], %[[K]], %[[K]] starts %{{.*}} causal sliding 3
    %0, %lse = graph.attention %q, %k, %k causal sliding 3 scale 1.0 : (tensor<2x8x4x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
    graph.return %0 : tensor<2x8x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x8x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Of keys that pass by, the first chunk is that of the rank before, and the second one that behind it.
module attributes {graph.key_travel = "ring"} {
  shard.grid @mesh(shape = 1x3) {graph.axis_names = ["dp", "cp"], graph.axis_roles = ["data", "context"]}
  // CHECK-LABEL: graph.func @microbatch({{.*}}: tensor<2x4x4x4xf32> {{.*}}: tensor<2x4x2x4xf32> {{.*}}) ->
  graph.func @microbatch(%q: tensor<2x12x4x4xf32>, %k: tensor<2x12x2x4xf32>) -> (tensor<2x12x4x4xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[K1:.*]] = shard.shift %[[K0:.*]] on @mesh
    // CHECK-COUNT-3: graph.attention %{{.*}}, %{{.*}}, %{{.*}} starts %{{.*}} causal sliding 3
    // CHECK: shard.shift %[[K1]] on @mesh
    // CHECK: %[[A:.*]] = graph.slice %[[K1]] dim 1 start 0 size 2
    // CHECK: graph.chunk_starts size 2 turned [2, 3]
    // CHECK: graph.attention %{{.*}}, %[[A]], %[[A]] starts
    // CHECK: %[[B:.*]] = graph.slice %[[K1]] dim 1 start 2 size 2
    // CHECK: graph.chunk_starts size 2 turned [1, 3]
    // CHECK: graph.attention %{{.*}}, %[[B]], %[[B]] starts
    // CHECK: graph.attention %{{.*}}, %[[A]], %[[A]] starts
    // CHECK-COUNT-3: graph.attention
    // CHECK-NOT: shard.shift
    %0, %lse = graph.attention %q, %k, %k causal sliding 3 scale 1.0 : (tensor<2x12x4x4xf32>, tensor<2x12x2x4xf32>, tensor<2x12x2x4xf32>) -> (tensor<2x12x4x4xf32>, tensor<2x4x12xf32>)
    graph.return %0 : tensor<2x12x4x4xf32>
  }
  graph.func @update(%loss: tensor<2x12x4x4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
