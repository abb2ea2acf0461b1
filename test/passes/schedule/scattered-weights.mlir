// RUN: dtc-opt %s --dtc-schedule='slots=2 split-backward=true' | FileCheck %s

// Weight gradients that ranks scatter in every micro-batch are made where they are scattered: no product waits for its task.
// CHECK-LABEL: exec.program @step mesh ["dp"] sizes [2] micro_batches 3
// CHECK:         exec.task @backward per_micro_batch {
// CHECK-NOT:       exec.gemm
// CHECK:           exec.launch @kernel_1
// CHECK-NOT:       exec.gemm
// CHECK:         exec.task @weight_gradients per_micro_batch {
// CHECK:           exec.gemm %{{.*}} transposed, %{{.*}} to %[[DW:.*]] sizes
// CHECK:           exec.collective reduce_scatter sum %[[DW]] to %[[PART:.*]] axes [0] count 8 {{.*}} gradient async
// CHECK:           exec.copy %[[PART]] to %grad_w {{.*}} starts_sum
// CHECK:         exec.task @loss {
module attributes {graph.micro_batches = 3 : i64} {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"], graph.axis_roles = ["data"]}
  graph.parameter @w : tensor<4x4xf32> init zeros placement <[shard(0)]>
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "x", graph.placement = #graph.placement<[shard(0)]>})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<2x4xf32> {graph.gradient_of = @w}) {
    %rest = graph.get @w : tensor<2x4xf32>
    %w = shard.all_gather %rest on @mesh grid_axes = [0] gather_axis = 0 {graph.communication = #graph.communication<parameter async>} : tensor<2x4xf32> -> tensor<4x4xf32>
    %y = graph.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %loss, %dy = graph.call @kernel_0(%y) : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
    %dz = graph.call @kernel_1(%dy) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %dw = graph.linear_weight_grad %x, %dz : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %part = shard.reduce_scatter %dw on @mesh grid_axes = [0] scatter_axis = 0 {graph.communication = #graph.communication<gradient async>} : tensor<4x4xf32> -> tensor<2x4xf32>
    graph.return %loss, %part : tensor<f32>, tensor<2x4xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %dw: tensor<2x4xf32> {graph.gradient_of = @w})
      -> (tensor<f32> {graph.output = "loss"}) {
    %w = graph.get @w : tensor<2x4xf32>
    %new = graph.call @kernel_2(%w, %dw) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.set @w, %new : tensor<2x4xf32>
    graph.return %loss : tensor<f32>
  }
  graph.func private @kernel_0(%y: tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>) attributes {kernel, kernel_range = 1 : i64} {
    %c = graph.constant 1.0 : tensor<f32>
    graph.return %c, %y : tensor<f32>, tensor<8x4xf32>
  }
  graph.func private @kernel_1(%y: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.negate %y : tensor<8x4xf32>
    graph.return %z : tensor<8x4xf32>
  }
  graph.func private @kernel_2(%w: tensor<2x4xf32>, %g: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.subtract %w, %g : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.return %z : tensor<2x4xf32>
  }
}
