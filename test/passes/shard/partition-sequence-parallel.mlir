// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// Under sequence parallelism a sum over tp is scattered over the sequence, norms work on their part of it, and the next
// column split gathers it again.
module attributes {graph.sequence_parallel} {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @down : tensor<32x512xf32> init zeros placement <[replicate, shard(0)]>
  graph.parameter @up : tensor<512x64xf32> init zeros placement <[replicate, shard(1)]>
  graph.parameter @norm : tensor<512xf32> init ones placement <[replicate, replicate]>
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x64x32xf32>) -> (tensor<4x64x64xf32> {graph.accumulated = "loss"}) {
    %down = graph.get @down : tensor<32x512xf32>
    %up = graph.get @up : tensor<512x64xf32>
    %norm = graph.get @norm : tensor<512xf32>
    // CHECK: %[[Y:.*]] = graph.linear {{.*}} -> tensor<4x64x512xf32>
    // CHECK: %[[S:.*]] = shard.reduce_scatter %[[Y]] on @mesh grid_axes = [1] scatter_axis = 1 {graph.communication = #graph.communication<activation>} : tensor<4x64x512xf32> -> tensor<4x32x512xf32>
    // CHECK: graph.rms_norm %[[S]]
    // CHECK: shard.all_gather %{{.*}} on @mesh grid_axes = [1] gather_axis = 1 {graph.communication = #graph.communication<activation>} : tensor<4x32x512xf32> -> tensor<4x64x512xf32>
    %0 = graph.linear %x, %down {graph.splits = array<i64: -1, 3>} : (tensor<4x64x32xf32>, tensor<32x512xf32>) -> tensor<4x64x512xf32>
    %1, %r = graph.rms_norm %0, %norm {graph.splits = array<i64: -1, 1>} : (tensor<4x64x512xf32>, tensor<512xf32>) -> (tensor<4x64x512xf32>, tensor<4x64xf32>)
    %2 = graph.linear %1, %up {graph.splits = array<i64: -1, 2>} : (tensor<4x64x512xf32>, tensor<512x64xf32>) -> tensor<4x64x64xf32>
    graph.return %2 : tensor<4x64x64xf32>
  }
  graph.func @update(%loss: tensor<4x64x64xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
