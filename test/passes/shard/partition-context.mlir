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
    // CHECK: %[[S:.*]] = graph.chunk_starts size 4 {windows = [#graph.window<loop = 1, local = 1, global = 2, axes = [1]>]} : tensor<2x1xi32>
    // CHECK: %[[L:.*]] = graph.reshape %[[S]] : tensor<2x1xi32> -> tensor<2xi32>
    // CHECK: graph.attention %{{.*}}, %[[K]], %[[K]] lengths %[[L]] scale 1.{{0*e\+00}}
    // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale 1.{{0*e\+00}}
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
    // CHECK: graph.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} lengths %{{[^ ]*}} scale 1.{{0*e\+00}}
    // CHECK: graph.attention %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} sinks %{{[^ ]*}} causal scale 1.{{0*e\+00}}
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
    // CHECK: %{{.*}}, %[[K:.*]], %{{.*}} = graph.attention_grad {{.*}} lengths
    // CHECK: %{{.*}}, %[[OWN:.*]], %{{.*}} = graph.attention_grad {{.*}} causal
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
