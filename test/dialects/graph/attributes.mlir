// The discardable attributes of the dialect, where they belong.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s

// CHECK: module attributes {graph.micro_batches = 2 : i64, graph.sequence_length = 8 : i64, graph.sequence_parallel, graph.zero = 1 : i64}
module attributes {graph.sequence_length = 8 : i64, graph.micro_batches = 2 : i64,
                   graph.sequence_parallel, graph.zero = 1 : i64} {
  // CHECK: {graph.axis_names = ["dp"]}
  shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
  graph.parameter @w : tensor<4x8xf32> init zeros
  // CHECK: graph.func @microbatch(%{{.*}}: tensor<4x8xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0)]>})
  // CHECK-SAME: -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4x8xf32> {graph.gradient_of = @w})
  graph.func @microbatch(%x: tensor<4x8xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0)]>})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4x8xf32> {graph.gradient_of = @w}) {
    // CHECK: shard.all_reduce {{.*}} {graph.communication = #graph.communication<gradient async>}
    %0 = shard.all_reduce %x on @mesh grid_axes = [0] {graph.communication = #graph.communication<gradient async>} : tensor<4x8xf32> -> tensor<4x8xf32>
    // CHECK: shard.all_reduce {{.*}} {graph.communication = #graph.communication<parameter async use 2>}
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] {graph.communication = #graph.communication<parameter async use 2>} : tensor<4x8xf32> -> tensor<4x8xf32>
    // CHECK: shard.all_reduce {{.*}} {graph.communication = #graph.communication<control>}
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {graph.communication = #graph.communication<control>} : tensor<4x8xf32> -> tensor<4x8xf32>
    // CHECK: graph.reduce sum {{.*}} {graph.splits = array<i64: -1, 1>}
    %3 = graph.reduce sum %2 dims [0, 1] {graph.splits = array<i64: -1, 1>} : tensor<4x8xf32> -> tensor<f32>
    graph.return %3, %2 : tensor<f32>, tensor<4x8xf32>
  }
  // CHECK: graph.func @update(%{{.*}}: tensor<f32> {graph.accumulated = "loss"}) -> (tensor<f32> {graph.output = "loss"})
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}) -> (tensor<f32> {graph.output = "loss"}) {
    graph.return %loss : tensor<f32>
  }
}
