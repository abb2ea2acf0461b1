// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// ZeRO-1 is a placement of the optimizer's state: the gradient is reduce-scattered to it, the new parameter gathered.
module attributes {graph.zero = 1 : i64} {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @w : tensor<6x4xf32> init zeros
  // CHECK: graph.state @w.momentum of @w : tensor<6x4xf32> placement <[shard(0), replicate]>
  graph.state @w.momentum of @w : tensor<6x4xf32>
  // What belongs to no parameter is whole on every rank; another element type of one is split like it.
  // CHECK: graph.state @calls : tensor<i64> placement <[replicate, replicate]>
  // CHECK: graph.state @w.low of @w : tensor<6x4xbf16> placement <[shard(0), replicate]>
  graph.state @calls : tensor<i64>
  graph.state @w.low of @w : tensor<6x4xbf16>
  graph.func @microbatch(%x: tensor<2x6xf32> {graph.input = "tokens"}, %dy: tensor<2x4xf32> {graph.input = "targets"})
      -> (tensor<6x4xf32> {graph.gradient_of = @w}) {
    %g = graph.linear_weight_grad %x, %dy : (tensor<2x6xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
    graph.return %g : tensor<6x4xf32>
  }
  // CHECK-LABEL: graph.func @update
  graph.func @update(%g: tensor<6x4xf32> {graph.gradient_of = @w}) {
    // CHECK: %[[G:.*]] = shard.reduce_scatter %{{.*}} on @mesh grid_axes = [0] scatter_axis = 0 {graph.communication = #graph.communication<gradient async>} : tensor<6x4xf32> -> tensor<3x4xf32>
    // CHECK: %[[W:.*]] = graph.get @w : tensor<6x4xf32>
    // CHECK: %[[P:.*]] = shard.all_slice %[[W]] on @mesh grid_axes = [0] slice_axis = 0 : tensor<6x4xf32> -> tensor<3x4xf32>
    // CHECK: %[[NEW:.*]], %[[B:.*]] = graph.sgd %[[P]], %[[G]]
    // CHECK: %[[ALL:.*]] = shard.all_gather %[[NEW]] on @mesh grid_axes = [0] gather_axis = 0 {graph.communication = #graph.communication<parameter async>} : tensor<3x4xf32> -> tensor<6x4xf32>
    // CHECK: graph.set @w, %[[ALL]]
    // CHECK: graph.set @w.momentum, %[[B]]
    %w = graph.get @w : tensor<6x4xf32>
    %m = graph.get @w.momentum : tensor<6x4xf32>
    %lr = graph.input base_lr : tensor<f32>
    %one = graph.constant 1.0 : tensor<f32>
    %p, %b = graph.sgd %w, %g, %m lr %lr grad_scale %one apply %one {momentum = 0.9, weight_decay = 0.0} : tensor<6x4xf32>
    graph.set @w, %p : tensor<6x4xf32>
    graph.set @w.momentum, %b : tensor<6x4xf32>
    graph.return
  }
}
