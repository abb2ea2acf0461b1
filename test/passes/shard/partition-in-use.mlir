// A parameter that rests split and is used whole is gathered for each use, and its gradient goes back to where it rests.
// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse -split-input-file | FileCheck %s

module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @w : tensor<4x4xf32> init zeros placement <[shard(1), replicate]> in_use <[replicate, replicate]>
  // State lies with what the optimizer changes, the parameter at rest.
  // CHECK: graph.state @w.momentum of @w : tensor<4x4xf32> placement <[shard(1), replicate]>
  graph.state @w.momentum of @w : tensor<4x4xf32>

  // The two uses do not share a gather: between them nobody holds the whole parameter.
  // CHECK-LABEL: graph.func @microbatch
  // CHECK-SAME:  tensor<4x2xf32> {graph.gradient_of = @w, graph.placement = #graph.placement<[shard(1), replicate]>}
  graph.func @microbatch(%x: tensor<2x4xf32> {graph.input = "tokens"}, %t: tensor<2x4xf32> {graph.input = "targets"})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4x4xf32> {graph.gradient_of = @w}) {
    // CHECK: %[[W:.*]] = graph.get @w : tensor<4x2xf32>
    // CHECK: %[[FIRST:.*]] = shard.all_gather %[[W]] on @mesh grid_axes = [0] gather_axis = 1 {graph.communication = #graph.communication<parameter async use 1>} : tensor<4x2xf32> -> tensor<4x4xf32>
    // CHECK: graph.linear %{{.*}}, %[[FIRST]]
    // CHECK: %[[SECOND:.*]] = shard.all_gather %[[W]] on @mesh grid_axes = [0] gather_axis = 1 {graph.communication = #graph.communication<parameter async use 2>}
    // CHECK: graph.linear %{{.*}}, %[[SECOND]] transposed
    // CHECK: %[[G:.*]] = graph.linear_weight_grad
    // CHECK: shard.reduce_scatter %[[G]] on @mesh grid_axes = [0] scatter_axis = 1 {graph.communication = #graph.communication<gradient async>} : tensor<4x4xf32> -> tensor<4x2xf32>
    %w = graph.get @w : tensor<4x4xf32>
    %y = graph.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dx = graph.linear %y, %w transposed : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %g = graph.linear_weight_grad %dx, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %loss = graph.reduce sum %dx dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    graph.return %loss, %g : tensor<f32>, tensor<4x4xf32>
  }

  // The optimizer works on what rests: no gradient, parameter or state moves.
  // CHECK-LABEL: graph.func @update
  // CHECK:       shard.all_reduce {{.*}}<control>
  // CHECK-NOT:   shard.
  // CHECK:       graph.sgd {{.*}} : tensor<4x2xf32>
  // CHECK-NOT:   shard.
  // CHECK:       graph.set @w, %{{.*}} : tensor<4x2xf32>
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %g: tensor<4x4xf32> {graph.gradient_of = @w})
      -> (tensor<f32> {graph.output = "loss"}) {
    %w = graph.get @w : tensor<4x4xf32>
    %m = graph.get @w.momentum : tensor<4x4xf32>
    %lr = graph.input base_lr : tensor<f32>
    %one = graph.constant 1.0 : tensor<f32>
    %p, %b = graph.sgd %w, %g, %m lr %lr grad_scale %one apply %one {momentum = 0.9, weight_decay = 0.0} : tensor<4x4xf32>
    graph.set @w, %p : tensor<4x4xf32>
    graph.set @w.momentum, %b : tensor<4x4xf32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// A sum that a rank adds up from parts of the parameter's gradient is a gradient wherever it moves, and what rests split
// over the data axis already is split no further for the optimizer's state.
module attributes {graph.zero = 1 : i64} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @v : tensor<4x8xf32> init zeros placement <[shard(1), replicate]> in_use <[replicate, replicate]>
  // CHECK: graph.state @v.momentum of @v : tensor<4x8xf32> placement <[shard(1), replicate]>
  graph.state @v.momentum of @v : tensor<4x8xf32>
  // CHECK-LABEL: graph.func @microbatch
  // CHECK:       shard.reduce_scatter {{.*}} {graph.communication = #graph.communication<gradient async>} : tensor<4x8xf32> -> tensor<4x4xf32>
  graph.func @microbatch(%x: tensor<2x4xf32> {graph.input = "tokens"}, %t: tensor<2x8xf32> {graph.input = "targets"})
      -> (tensor<4x8xf32> {graph.gradient_of = @v}) {
    %g = graph.linear_weight_grad %x, %t {graph.splits = array<i64: 0, -1>} : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    graph.return %g : tensor<4x8xf32>
  }
  // A norm is one number, which no tensor of the model waits for.
  // CHECK-LABEL: graph.func @update
  // CHECK:       %[[S:.*]] = graph.sum_squares
  // CHECK:       shard.all_reduce %[[S]] on @mesh grid_axes = [0] {graph.communication = #graph.communication<control>}
  graph.func @update(%g: tensor<4x8xf32> {graph.gradient_of = @v}) -> (tensor<f32> {graph.output = "grad_norm"}) {
    %s = graph.sum_squares %g : tensor<4x8xf32>
    %n = graph.sqrt %s : tensor<f32>
    graph.return %n : tensor<f32>
  }
}
