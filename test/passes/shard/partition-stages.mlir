// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// Ops that finish sums within themselves, whose rows are split over tp: each is taken apart into ops with one sum or
// maximum each, which is finished where it is read.
module {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @w : tensor<16xf32> init ones placement <[replicate, shard(0)]>
  graph.parameter @b : tensor<16xf32> init zeros placement <[replicate, shard(0)]>
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x16xf32>, %targets: tensor<4xi32>) -> (tensor<4x16xf32> {graph.accumulated = "a"},
      tensor<4xf32> {graph.accumulated = "loss"}) {
    %w = graph.get @w : tensor<16xf32>
    %b = graph.get @b : tensor<16xf32>
    // Two stages: the mean, then the variance around it.
    // CHECK: %[[X:.*]] = shard.all_slice
    // CHECK: %[[SUM:.*]] = graph.reduce sum %[[X]] dims [1] scale 6.250000e-02 {graph.unfinished = array<i64: 2>} : tensor<2x8xf32> -> tensor<2xf32>
    // CHECK: %[[MEAN:.*]] = shard.all_reduce %[[SUM]] on @mesh grid_axes = [1]
    // CHECK: %[[M:.*]] = graph.reshape %[[MEAN]] : tensor<2xf32> -> tensor<2x1xf32>
    // CHECK: %[[CENTRED:.*]] = graph.subtract %[[X]], %[[M]]
    // CHECK: %[[SQUARES:.*]] = graph.multiply %[[CENTRED]], %[[CENTRED]]
    // CHECK: graph.reduce sum %[[SQUARES]] dims [1] scale 6.250000e-02
    // CHECK: %[[VARIANCE:.*]] = shard.all_reduce
    // CHECK: graph.add %[[VARIANCE]], %{{.*}} : (tensor<2xf32>, tensor<f32>)
    // CHECK: graph.sqrt
    // CHECK: graph.divide
    // CHECK: %[[R:.*]] = graph.reshape
    // CHECK: %[[N:.*]] = graph.multiply %[[CENTRED]], %[[R]] : (tensor<2x8xf32>, tensor<2x1xf32>)
    %y, %mean, %rstd = graph.layer_norm %x, %w, %b {graph.splits = array<i64: 0, 1>} : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>)
    // Its gradient takes both means of what a rank has; mean and normalised row are those of forward.
    // CHECK: %[[Y:.*]] = graph.add
    // CHECK: %[[G:.*]] = graph.multiply %[[Y]]
    // CHECK: graph.multiply %[[G]], %[[N]]
    // CHECK: graph.reduce sum
    // CHECK: shard.all_reduce {{.*}} tensor<2xf32> -> tensor<2xf32>
    // CHECK: graph.reduce sum %[[G]]
    // CHECK: shard.all_reduce {{.*}} tensor<2xf32> -> tensor<2xf32>
    %dy = graph.layer_norm_grad %x, %w, %mean, %rstd, %y {graph.splits = array<i64: 0, 1>} : (tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    // One stage each.
    // CHECK: graph.reduce sum
    // CHECK: shard.all_reduce
    // CHECK: graph.sqrt
    %z, %rstd1 = graph.rms_norm %dy, %w {graph.splits = array<i64: 0, 1>} : (tensor<4x16xf32>, tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4xf32>)
    // CHECK: graph.reduce sum
    // CHECK: shard.all_reduce
    %dz = graph.rms_norm_grad %x, %w, %rstd1, %z {graph.splits = array<i64: 0, 1>} : (tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    // CHECK: graph.reduce max
    // CHECK: %[[MAX:.*]] = shard.all_reduce {{.*}} reduction = max
    // CHECK: graph.sum_exp %{{.*}}, %[[MAX]] {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = 1, local = 8, global = 16, axes = [1]>]}
    // CHECK: shard.all_reduce
    // CHECK: graph.divide
    %s = graph.softmax %dz {graph.splits = array<i64: 0, 1>} : tensor<4x16xf32>
    // CHECK: graph.reduce sum
    // CHECK: shard.all_reduce
    %ds = graph.softmax_grad %s, %dz {graph.splits = array<i64: 0, 1>} : tensor<4x16xf32>
    // A rank that has not the target's word adds 0; rows that do not count have no loss.
    // CHECK: graph.reduce max
    // CHECK: %[[HIGHEST:.*]] = shard.all_reduce {{.*}} reduction = max
    // CHECK: graph.sum_exp
    // CHECK: %[[EXPS:.*]] = shard.all_reduce
    // CHECK: %[[LOG:.*]] = graph.log %[[EXPS]]
    // CHECK: %[[LSE:.*]] = graph.add %[[LOG]], %[[HIGHEST]]
    // CHECK: graph.pick {{.*}} {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = 1, local = 8, global = 16, axes = [1]>]}
    // CHECK: %[[PICKED:.*]] = shard.all_reduce
    // CHECK: %[[LOSS:.*]] = graph.subtract %[[LSE]], %[[PICKED]]
    // CHECK: graph.multiply %[[LOSS]]
    // CHECK-NOT: shard.all_reduce
    %loss, %lse = graph.cross_entropy %ds, %targets ignoring 3 {graph.splits = array<i64: 0, 1>} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    graph.return %ds, %loss : tensor<4x16xf32>, tensor<4xf32>
  }
  // CHECK-LABEL: graph.func @update
  graph.func @update(%a: tensor<4x16xf32> {graph.accumulated = "a"}, %loss: tensor<4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
