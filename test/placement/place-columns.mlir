// RUN: dtc-opt %s "--dtc-place=search=true" --dtc-partition --canonicalize --cse | FileCheck %s

// Rows are samples, which tensor parallelism does not split: a sum over its ranks is scattered over columns, each rank
// normalises its part, and only the rows' sums of squares are added up. To finish the sum first would send twice as much
// and leave all of the norm to every rank.
module {
  shard.grid @mesh(shape = 1x8) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @down : tensor<8192x8192xf32> init zeros placement <[replicate, shard(0)]>
  // CHECK: graph.parameter @scale : tensor<8192xf32> init ones placement <[replicate, shard(0)]>
  graph.parameter @scale : tensor<8192xf32> init ones
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4096x8192xf32> {graph.input = "x"}) -> (tensor<4096x8192xf32> {graph.accumulated = "loss"}) {
    %down = graph.get @down : tensor<8192x8192xf32>
    %scale = graph.get @scale : tensor<8192xf32>
    // CHECK: %[[SUM:.*]] = graph.linear {{.*}} -> tensor<4096x8192xf32>
    // CHECK: %[[PART:.*]] = shard.reduce_scatter %[[SUM]] on @mesh grid_axes = [1] scatter_axis = 1
    %0 = graph.linear %x, %down {graph.splits = array<i64: -1, 2>} : (tensor<4096x8192xf32>, tensor<8192x8192xf32>) -> tensor<4096x8192xf32>
    // CHECK: graph.multiply %[[PART]], %[[PART]] : (tensor<4096x1024xf32>
    // CHECK: shard.all_reduce {{.*}} : tensor<4096xf32> -> tensor<4096xf32>
    // CHECK-NOT: shard.
    // CHECK: graph.return %{{.*}} : tensor<4096x1024xf32>
    %1, %r = graph.rms_norm %0, %scale : (tensor<4096x8192xf32>, tensor<8192xf32>) -> (tensor<4096x8192xf32>, tensor<4096xf32>)
    graph.return %1 : tensor<4096x8192xf32>
  }
  graph.func @update(%loss: tensor<4096x8192xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
