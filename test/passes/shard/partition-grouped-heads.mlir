// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// Two query heads share one kv head, so attention can't be split over two ranks: the second would have a query head and
// only padding for its kv head. Queries are gathered, and attention runs whole on both ranks.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @q : tensor<2x8x16xf32> init zeros placement <[replicate, shard(0)]>
  graph.parameter @k : tensor<1x8x16xf32> init zeros placement <[replicate, shard(0)]>
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x4x16xf32>) -> (tensor<4x4x2x8xf32> {graph.accumulated = "loss"}) {
    %wq = graph.get @q : tensor<2x8x16xf32>
    %wk = graph.get @k : tensor<1x8x16xf32>
    %q = graph.linear %x, %wq transposed {graph.splits = array<i64: -1, 2>} : (tensor<4x4x16xf32>, tensor<2x8x16xf32>) -> tensor<4x4x2x8xf32>
    %k = graph.linear %x, %wk transposed : (tensor<4x4x16xf32>, tensor<1x8x16xf32>) -> tensor<4x4x1x8xf32>
    // CHECK: %[[Q:.*]] = shard.all_gather {{.*}} gather_axis = 2 {graph.communication = #graph.communication<activation>} : tensor<4x4x1x8xf32> -> tensor<4x4x2x8xf32>
    // CHECK: graph.attention %[[Q]], {{.*}} : (tensor<4x4x2x8xf32>, tensor<4x4x1x8xf32>, tensor<4x4x1x8xf32>)
    %a, %lse = graph.attention %q, %k, %k scale 1.0 {graph.splits = array<i64: -1, -1>} : (tensor<4x4x2x8xf32>, tensor<4x4x1x8xf32>, tensor<4x4x1x8xf32>) -> (tensor<4x4x2x8xf32>, tensor<4x2x4xf32>)
    graph.return %a : tensor<4x4x2x8xf32>
  }
  graph.func @update(%loss: tensor<4x4x2x8xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
