// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// Column split, then row split: one sum at the end, none between. The batch stays split over dp, and weight gradients
// leave as unfinished sums over dp.
module {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @up : tensor<16x32xf32> init zeros placement <[replicate, shard(1)]>
  graph.parameter @down : tensor<32x16xf32> init zeros placement <[replicate, shard(0)]>

  // CHECK-LABEL: graph.func @microbatch
  // CHECK-SAME:  tensor<2x8xi32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>}
  // CHECK-SAME:  tensor<16x16xf32> {graph.gradient_of = @up, graph.placement = #graph.placement<[partial(sum), shard(1)]>}
  graph.func @microbatch(%tokens: tensor<4x8xi32> {graph.input = "tokens"}, %x: tensor<4x8x16xf32> {graph.input = "targets"})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<16x32xf32> {graph.gradient_of = @up}) {
    %up = graph.get @up : tensor<16x32xf32>
    %down = graph.get @down : tensor<32x16xf32>
    // CHECK: %[[H:.*]] = graph.linear %{{.*}}, %{{.*}} : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    // CHECK-NOT: shard.
    // CHECK: %[[A:.*]] = graph.silu %[[H]]
    // CHECK-NOT: shard.
    // CHECK: %[[Y:.*]] = graph.linear %[[A]], %{{.*}} : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    // CHECK: shard.all_reduce %[[Y]] on @mesh grid_axes = [1] {graph.communication = #graph.communication<activation>}
    %0 = graph.linear %x, %up {graph.splits = array<i64: 0, 2>} : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %1 = graph.silu %0 {graph.splits = array<i64: 0, 2>} : tensor<4x8x32xf32>
    %2 = graph.linear %1, %down {graph.splits = array<i64: 0, 3>} : (tensor<4x8x32xf32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
    %3 = graph.exp %2 {graph.splits = array<i64: 0, -1>} : tensor<4x8x16xf32>
    %4 = graph.reduce sum %3 dims [0, 1, 2] {graph.splits = array<i64: 0, -1>} : tensor<4x8x16xf32> -> tensor<f32>
    // CHECK: graph.linear_weight_grad {{.*}} -> tensor<16x16xf32>
    %5 = graph.linear_weight_grad %x, %0 : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
    graph.return %4, %5 : tensor<f32>, tensor<16x32xf32>
  }
  // The loss is summed over ranks here, once a step; it is no tensor of the model, and the gradient can wait.
  // CHECK-LABEL: graph.func @update
  // CHECK:       shard.all_reduce %{{.*}} on @mesh grid_axes = [0] {graph.communication = #graph.communication<control>} : tensor<f32>
  // CHECK:       shard.all_reduce %{{.*}} on @mesh grid_axes = [0] {graph.communication = #graph.communication<gradient async>} : tensor<16x16xf32>
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %g: tensor<16x32xf32> {graph.gradient_of = @up})
      -> (tensor<f32> {graph.output = "loss"}) {
    graph.set @up, %g : tensor<16x32xf32>
    graph.return %loss : tensor<f32>
  }
}
