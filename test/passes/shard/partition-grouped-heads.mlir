// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse -split-input-file | FileCheck %s

// Two query heads share the only kv head. Both ranks hold it, and each runs one of the query heads: a step of the inner
// loop of the heads' dim, since the outer one has one step.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @q : tensor<2x8x16xf32> init zeros placement <[replicate, shard(0)]>
  graph.parameter @k : tensor<1x8x16xf32> init zeros placement <[replicate, shard(1)]>
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x4x16xf32>) -> (tensor<4x4x2x8xf32> {graph.accumulated = "loss"}) {
    %wq = graph.get @q : tensor<2x8x16xf32>
    %wk = graph.get @k : tensor<1x8x16xf32>
    // CHECK: %[[Q:.*]] = graph.linear {{.*}} -> tensor<4x4x1x8xf32>
    %q = graph.linear %x, %wq transposed {graph.splits = array<i64: -1, 2>} : (tensor<4x4x16xf32>, tensor<2x8x16xf32>) -> tensor<4x4x2x8xf32>
    %k = graph.linear %x, %wk transposed {graph.splits = array<i64: -1, 3>} : (tensor<4x4x16xf32>, tensor<1x8x16xf32>) -> tensor<4x4x1x8xf32>
    // CHECK: %[[K:.*]] = shard.all_gather {{.*}} gather_axis = 3 {{.*}} : tensor<4x4x1x4xf32> -> tensor<4x4x1x8xf32>
    // CHECK: graph.attention %[[Q]], %[[K]], %[[K]] {{.*}} : (tensor<4x4x1x8xf32>, tensor<4x4x1x8xf32>, tensor<4x4x1x8xf32>)
    %a, %lse = graph.attention %q, %k, %k scale 1.0 {graph.splits = array<i64: -1, 2>} : (tensor<4x4x2x8xf32>, tensor<4x4x1x8xf32>, tensor<4x4x1x8xf32>) -> (tensor<4x4x2x8xf32>, tensor<4x2x4xf32>)
    graph.return %a : tensor<4x4x2x8xf32>
  }
  graph.func @update(%loss: tensor<4x4x2x8xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Two kv heads on four ranks: "tp.kv" splits them, "tp.group" the three query heads of each. What is split over both, such
// as %q, is split over kv heads outside, so that a rank has query heads of one kv head. The gradients of a kv head are sums
// over its group, and dropout is keyed by the head's place among all.
module {
  shard.grid @mesh(shape = 1x2x3) {graph.axis_names = ["dp", "tp.kv", "tp.group"], graph.axis_roles = ["data", "tensor", "tensor"]}
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%q: tensor<4x4x6x8xf32>, %k: tensor<4x4x2x8xf32>, %s: tensor<i64>, %t: tensor<f32>) -> (tensor<4x4x2x8xf32> {graph.accumulated = "loss"}, tensor<4x4x2x8xf32> {graph.accumulated = "other"}) {
    // CHECK: %[[Q:.*]] = shard.all_slice %{{.*}} grid_axes = [1, 2] slice_axis = 2 : tensor<4x4x6x8xf32> -> tensor<4x4x1x8xf32>
    // CHECK: %[[K:.*]] = shard.all_slice %{{.*}} grid_axes = [1] slice_axis = 2 : tensor<4x4x2x8xf32> -> tensor<4x4x1x8xf32>
    // CHECK: %[[A:.*]], %[[L:.*]] = graph.attention %[[Q]], %[[K]], %[[K]] {{.*}}windows = [#graph.window<loop = 1, local = 1, global = 2, axes = [1]>, #graph.window<loop = 2, local = 1, global = 3, axes = [2]>]
    %a, %lse = graph.attention %q, %k, %k scale 1.0 dropout 0.1 id 7 key(%s, %t) {graph.splits = array<i64: -1, 1, 2>} : (tensor<4x4x6x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>, tensor<i64>, tensor<f32>) -> (tensor<4x4x6x8xf32>, tensor<4x6x4xf32>)
    // CHECK: %{{.*}}, %[[DK:.*]], %{{.*}} = graph.attention_grad %[[Q]], %[[K]], %[[K]], %[[A]], %[[L]], %[[Q]]
    %dq, %dk, %dv = graph.attention_grad %q, %k, %k, %a, %lse, %q scale 1.0 dropout 0.1 id 7 key(%s, %t) {graph.splits = array<i64: -1, 1, 2>} : (tensor<4x4x6x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x6x8xf32>, tensor<4x6x4xf32>, tensor<4x4x6x8xf32>, tensor<i64>, tensor<f32>) -> (tensor<4x4x6x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>)
    // CHECK: shard.all_reduce %[[DK]] on @mesh grid_axes = [2] {{.*}} : tensor<4x4x1x8xf32>
    %e = graph.exp %dk {graph.splits = array<i64: -1, 2, -1>} : tensor<4x4x2x8xf32>
    graph.return %e, %dv : tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>
  }
  graph.func @update(%loss: tensor<4x4x2x8xf32> {graph.accumulated = "loss"}, %other: tensor<4x4x2x8xf32> {graph.accumulated = "other"}) {
    graph.return
  }
}
