// Where ZeRO shards within groups of ranks, the batch is split over both axes of data parallelism. Gradients are taken apart
// among the ranks of a group in each micro-batch, and added up between groups once a step.
// RUN: dtc-opt %s --dtc-set-mesh='dp=4 tp=1 zero=2 zero-group=2' --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// CHECK: shard.grid @mesh(shape = 2x2x1) {graph.axis_names = ["dp.groups", "dp.shards", "tp"], graph.axis_roles = ["data", "data", "tensor"]}
// CHECK: graph.state @w.momentum of @w : tensor<4x8xf32> placement <[replicate, shard(1), replicate]>
graph.parameter @w : tensor<4x8xf32> init zeros
graph.state @w.momentum of @w : tensor<4x8xf32>

// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:  tensor<1x4xf32>
// CHECK-SAME:  tensor<4x4xf32> {graph.gradient_of = @w, graph.placement = #graph.placement<[partial(sum), shard(1), replicate]>}
// CHECK:       shard.reduce_scatter {{.*}} grid_axes = [1] scatter_axis = 1 {graph.communication = #graph.communication<gradient async>} : tensor<4x8xf32> -> tensor<4x4xf32>
graph.func @microbatch(%x: tensor<4x4xf32> {graph.input = "tokens"}, %t: tensor<4x8xf32> {graph.input = "targets"})
    -> (tensor<4x8xf32> {graph.gradient_of = @w}) {
  %g = graph.linear_weight_grad %x, %t : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.return %g : tensor<4x8xf32>
}

// The new parameter is gathered within the group: each group has updated all of it.
// CHECK-LABEL: graph.func @update
// CHECK:       shard.all_reduce {{.*}} grid_axes = [0] {graph.communication = #graph.communication<gradient async>} : tensor<4x4xf32> -> tensor<4x4xf32>
// CHECK:       graph.sgd
// CHECK:       shard.all_gather {{.*}} grid_axes = [1] gather_axis = 1 {graph.communication = #graph.communication<parameter async>} : tensor<4x4xf32> -> tensor<4x8xf32>
graph.func @update(%g: tensor<4x8xf32> {graph.gradient_of = @w}) -> (tensor<f32> {graph.output = "learning_rate"}) {
  %w = graph.get @w : tensor<4x8xf32>
  %m = graph.get @w.momentum : tensor<4x8xf32>
  %lr = graph.input base_lr : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %p, %b = graph.sgd %w, %g, %m lr %lr grad_scale %one apply %one {momentum = 0.9, weight_decay = 0.0} : tensor<4x8xf32>
  graph.set @w, %p : tensor<4x8xf32>
  graph.set @w.momentum, %b : tensor<4x8xf32>
  graph.return %lr : tensor<f32>
}
