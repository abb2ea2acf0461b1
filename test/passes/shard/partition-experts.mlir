// Experts split over an axis: a rank multiplies the rows of its own experts, and what it combines of each token is a
// sum with the other ranks.
// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s
module {
  shard.grid @mesh(shape = 2x4) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @"experts.*.up" : tensor<8x32x16xf32> init zeros placement <[replicate, shard(0)]>
  graph.parameter @"experts.*.down" : tensor<8x16x32xf32> init zeros placement <[replicate, shard(0)]>

  // CHECK-LABEL: graph.func @microbatch
  // CHECK:       graph.moe_router {{.*}} (tensor<2x128x8xf32>)
  // CHECK:       %[[ROWS:.*]] = graph.moe_dispatch
  // CHECK:       %[[MINE:.*]] = shard.all_slice %[[ROWS]] on @mesh grid_axes = [1] slice_axis = 0 : tensor<8x2x32x16xf32> -> tensor<2x2x32x16xf32>
  // CHECK:       graph.expert_linear %[[MINE]], %{{.*}} transposed : (tensor<2x2x32x16xf32>, tensor<2x32x16xf32>)
  // CHECK-NOT:   shard.
  // CHECK:       %[[PART:.*]] = graph.moe_combine {{.*}} {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = 0, local = 2, global = 8, axes = [1]>]} : (tensor<2x2x32x16xf32>,
  // CHECK:       shard.all_reduce %[[PART]] on @mesh grid_axes = [1] {graph.communication = #graph.communication<expert>}
  // CHECK:       graph.expert_linear_weight_grad %[[MINE]], {{.*}} -> tensor<2x32x16xf32>
  graph.func @microbatch(%tokens: tensor<4x8xi32> {graph.input = "tokens"}, %x: tensor<4x128x16xf32> {graph.input = "targets"})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<8x32x16xf32> {graph.gradient_of = @"experts.*.up"}) {
    %up = graph.get @"experts.*.up" : tensor<8x32x16xf32>
    %down = graph.get @"experts.*.down" : tensor<8x16x32xf32>
    %gate = graph.constant 1.0 : tensor<8x16xf32>
    %l = graph.linear %x, %gate transposed {graph.splits = array<i64: 0, -1>} : (tensor<4x128x16xf32>, tensor<8x16xf32>) -> tensor<4x128x8xf32>
    %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<4x128x8xf32>) -> (tensor<4x128x2xf32>, tensor<4x128x2xi32>, tensor<4x128x2xi32>, tensor<4x8xf32>, tensor<4x8xf32>)
    %r = graph.moe_dispatch %x to %e at %s group 64 capacity 1.0 {graph.splits = array<i64: 1, -1>} : (tensor<4x128x16xf32>, tensor<4x128x2xi32>, tensor<4x128x2xi32>) -> tensor<8x4x32x16xf32>
    %h = graph.expert_linear %r, %up transposed {graph.splits = array<i64: 1, 0>} : (tensor<8x4x32x16xf32>, tensor<8x32x16xf32>) -> tensor<8x4x32x32xf32>
    %a = graph.silu %h {graph.splits = array<i64: 1, 0>} : tensor<8x4x32x32xf32>
    %o = graph.expert_linear %a, %down transposed {graph.splits = array<i64: 1, 0>} : (tensor<8x4x32x32xf32>, tensor<8x16x32xf32>) -> tensor<8x4x32x16xf32>
    %c = graph.moe_combine %o from %e at %s weighted %w group 64 capacity 1.0 {graph.splits = array<i64: 1, 0>} : (tensor<8x4x32x16xf32>, tensor<4x128x2xi32>, tensor<4x128x2xi32>, tensor<4x128x2xf32>) -> tensor<4x128x16xf32>
    %3 = graph.exp %c {graph.splits = array<i64: 0, -1>} : tensor<4x128x16xf32>
    %4 = graph.reduce sum %3 dims [0, 1, 2] {graph.splits = array<i64: 0, -1>} : tensor<4x128x16xf32> -> tensor<f32>
    %5 = graph.expert_linear_weight_grad %r, %h transposed {graph.splits = array<i64: 1, 0>} : (tensor<8x4x32x16xf32>, tensor<8x4x32x32xf32>) -> tensor<8x32x16xf32>
    graph.return %4, %5 : tensor<f32>, tensor<8x32x16xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %g: tensor<8x32x16xf32> {graph.gradient_of = @"experts.*.up"})
      -> (tensor<f32> {graph.output = "loss"}) {
    graph.set @"experts.*.up", %g : tensor<8x32x16xf32>
    graph.return %loss : tensor<f32>
  }
}
