// RUN: dtc-opt %s --dtc-lower-to-exec | FileCheck %s
// RUN: dtc-opt %s --dtc-schedule | FileCheck %s --check-prefix=PLAN

// Two micro-batches of 2 samples on each of 2 ranks, weights split over tp: a view that moves over the tokens, one buffer per
// gradient, each task once, the update at the end of the order.
// CHECK-LABEL: exec.program @step mesh ["dp", "tp"] sizes [2, 2] micro_batches 2
// CHECK:         exec.parameter "wte" %wte global [63, 16] stored [63, 16] local [32, 16] axes {{\[\[}}1], []]
// CHECK:         exec.input "tokens" %tokens shape [2, 2, 8] axes {{\[\[}}], [0], []] below 32 ignored -1
// CHECK:         %grad_w = exec.buffer "grad w" gradient f32 1024 bytes carried
// CHECK:         %[[T:.*]] = exec.view %tokens "tokens.micro_batch" i32 64 bytes at 0 + 64 * micro_batch
// CHECK:         exec.task @forward per_micro_batch {
// CHECK:         exec.embedding %wte, %[[T]] to %[[E:.*]] rows 32 columns 16 tokens 16 first_row <0 + 32 * axis 1>
// CHECK:         exec.collective all_reduce sum %[[E]] to %[[X:.*]] axes [1] count 256 "{{.*}}" activation
// CHECK:         exec.gemm %[[X]], %w to %[[Y:.*]] sizes [16, 16, 16] strides [16, 16, 16]
// CHECK:         exec.launch @kernel_0(%[[Y]], %{{.*}}) to(%{{.*}}, %[[DY:.*]]) range 1
// CHECK:         exec.task @backward per_micro_batch {
// CHECK:         exec.gemm %[[X]] transposed, %[[DY]] to %[[DW:.*]] sizes
// CHECK-NEXT:    exec.copy %[[DW]] to %grad_w sizes [256] from [1] at <0> into [1] at <0> accumulate starts_sum{{$}}
// CHECK:         exec.task @update {
// CHECK:         exec.copy %w to %{{.*}} sizes [128] from [1] at <0 + 128 * axis 0> into [1] at <0>
// CHECK:         exec.copy %{{.*}} to %w sizes [256]
// CHECK:         exec.entry train order [@forward 0, @backward 0, @forward 1, @backward 1, @gradients, @update]
// CHECK:         exec.entry gradients order [@forward 0, @backward 0, @forward 1, @backward 1, @gradients]
// CHECK-NOT:   graph.func @microbatch
// CHECK-NOT:   graph.func @update

// PLAN-LABEL:  exec.program @step {{.*}} arena {{[0-9]+}} bytes streams 2
// PLAN:          exec.gemm %{{.*}} transposed, %{{.*}} to %grad_w {{.*}} beta 1.{{.*}} starts_sum
// PLAN:          exec.collective reduce_scatter sum %grad_w {{.*}} "grad w" gradient async stream 1 last
// PLAN:          exec.launch @kernel_1(%wte, %{{.*}}) to(%wte)
// PLAN:          exec.collective all_gather sum %{{.*}} to %w axes [0] count 128 "w" parameter async stream 1
// PLAN-NOT:      exec.copy
module @m attributes {graph.micro_batches = 2 : i64, graph.sequence_length = 8 : i64} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @wte : tensor<63x16xf32> init normal(0.0, 0.02) decay placement <[replicate, shard(0)]>
  graph.parameter @w : tensor<16x32xf32> init normal(0.0, 0.02) stored [16, 32] decay placement <[replicate, shard(1)]>
  graph.state @"w.exp_avg" of @w : tensor<16x32xf32> placement <[shard(0), shard(1)]>
  graph.func @microbatch(%t: tensor<2x8xi32> {graph.below = 32 : i64, graph.ignored = -1 : i64, graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>},
      %u: tensor<2x8xi32> {graph.input = "targets", graph.placement = #graph.placement<[shard(0), replicate]>})
     -> (tensor<f32> {graph.accumulated = "loss"}, tensor<32x16xf32> {graph.gradient_of = @wte}, tensor<16x16xf32> {graph.gradient_of = @w}) {
    %wte = graph.get @wte : tensor<32x16xf32>
    %w = graph.get @w : tensor<16x16xf32>
    %e = graph.embedding %wte, %t {windows = [#graph.window<loop = 3, local = 32, global = 63, axes = [1]>]} : (tensor<32x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
    %x = shard.all_reduce %e on @mesh grid_axes = [1] {graph.communication = #graph.communication<activation>} : tensor<2x8x16xf32> -> tensor<2x8x16xf32>
    %y = graph.linear %x, %w : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    %loss, %dy = graph.call @kernel_0(%y, %u) : (tensor<2x8x16xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8x16xf32>)
    %dw = graph.linear_weight_grad %x, %dy : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<16x16xf32>
    %dx0 = graph.linear %dy, %w transposed : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
    %dx = shard.all_reduce %dx0 on @mesh grid_axes = [1] {graph.communication = #graph.communication<activation>} : tensor<2x8x16xf32> -> tensor<2x8x16xf32>
    %dwte = graph.embedding_grad %t, %dx {windows = [#graph.window<loop = 3, local = 32, global = 63, axes = [1]>]} : (tensor<2x8xi32>, tensor<2x8x16xf32>) -> tensor<32x16xf32>
    graph.return %loss, %dwte, %dw : tensor<f32>, tensor<32x16xf32>, tensor<16x16xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %dwte: tensor<32x16xf32> {graph.gradient_of = @wte}, %dw: tensor<16x16xf32> {graph.gradient_of = @w}) -> (tensor<f32> {graph.output = "grad_norm"}) {
    %g = shard.all_reduce %dwte on @mesh grid_axes = [0] {graph.communication = #graph.communication<gradient async>} : tensor<32x16xf32> -> tensor<32x16xf32>
    %h = shard.reduce_scatter %dw on @mesh grid_axes = [0] scatter_axis = 0 {graph.communication = #graph.communication<gradient async>} : tensor<16x16xf32> -> tensor<8x16xf32>
    %n = graph.call @kernel_2(%g, %h) : (tensor<32x16xf32>, tensor<8x16xf32>) -> tensor<f32>
    %wte = graph.get @wte : tensor<32x16xf32>
    %w = graph.get @w : tensor<16x16xf32>
    %m = graph.get @"w.exp_avg" : tensor<8x16xf32>
    %wl = shard.all_slice %w on @mesh grid_axes = [0] slice_axis = 0 : tensor<16x16xf32> -> tensor<8x16xf32>
    %wte2 = graph.call @kernel_1(%wte, %g) : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    %w2, %m2 = graph.call @kernel_3(%wl, %h, %m) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %wg = shard.all_gather %w2 on @mesh grid_axes = [0] gather_axis = 0 {graph.communication = #graph.communication<parameter async>} : tensor<8x16xf32> -> tensor<16x16xf32>
    graph.set @wte, %wte2 : tensor<32x16xf32>
    graph.set @w, %wg : tensor<16x16xf32>
    graph.set @"w.exp_avg", %m2 : tensor<8x16xf32>
    graph.return %n : tensor<f32>
  }
  graph.func private @kernel_0(%y: tensor<2x8x16xf32>, %u: tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8x16xf32>) attributes {kernel, kernel_range = 1 : i64} {
    %c = graph.constant 1.0 : tensor<f32>
    graph.return %c, %y : tensor<f32>, tensor<2x8x16xf32>
  }
  graph.func private @kernel_1(%y: tensor<32x16xf32>, %g: tensor<32x16xf32>) -> tensor<32x16xf32> attributes {kernel, kernel_range = 1 : i64, kernel_in_place = [array<i64: 0, 0>, array<i64: 0, 1>]} {
    %z = graph.add %y, %g : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
    graph.return %z : tensor<32x16xf32>
  }
  graph.func private @kernel_2(%y: tensor<32x16xf32>, %u: tensor<8x16xf32>) -> tensor<f32> attributes {kernel, kernel_range = 1 : i64} {
    %c = graph.constant 1.0 : tensor<f32>
    graph.return %c : tensor<f32>
  }
  graph.func private @kernel_3(%y: tensor<8x16xf32>, %u: tensor<8x16xf32>, %m: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) attributes {kernel, kernel_range = 1 : i64, kernel_in_place = [array<i64: 0, 0>, array<i64: 1, 2>]} {
    %z = graph.add %y, %u : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    graph.return %z, %m : tensor<8x16xf32>, tensor<8x16xf32>
  }
}
