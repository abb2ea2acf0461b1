// RUN: dtc-opt %s --dtc-place --dtc-partition | FileCheck %s

// Gradients that ranks add up are rounded for it, to what the module says, and f32 again behind it; the loss is not.
module attributes {graph.grad_dtype = "bf16"} {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"], graph.axis_roles = ["data"]}
  graph.parameter @w : tensor<4x4xf32> init zeros
  graph.state @w.momentum of @w : tensor<4x4xf32>
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4x4xf32> {graph.gradient_of = @w}) {
    %loss = graph.reduce sum %x dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    %g = graph.linear_weight_grad %x, %x : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    graph.return %loss, %g : tensor<f32>, tensor<4x4xf32>
  }
  // CHECK-LABEL: graph.func @update
  // CHECK-SAME:    (%[[LOSS:.*]]: tensor<f32> {{.*}}, %[[G:.*]]: tensor<4x4xf32>
  // CHECK-DAG:     shard.all_reduce %[[LOSS]] on @mesh {{.*}} : tensor<f32> -> tensor<f32>
  // CHECK-DAG:     %[[NARROW:.*]] = graph.cast %[[G]] {graph.unfinished = array<i64: 1>} : tensor<4x4xf32> to tensor<4x4xbf16>
  // CHECK:         %[[SUM:.*]] = shard.all_reduce %[[NARROW]] on @mesh {{.*}} : tensor<4x4xbf16> -> tensor<4x4xbf16>
  // CHECK:         %[[WIDE:.*]] = graph.cast %[[SUM]] : tensor<4x4xbf16> to tensor<4x4xf32>
  // CHECK:         graph.sgd %{{.*}}, %[[WIDE]]
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %g: tensor<4x4xf32> {graph.gradient_of = @w}) -> (tensor<f32> {graph.output = "loss"}) {
    %lr = graph.input base_lr : tensor<f32>
    %one = graph.constant 1.0 : tensor<f32>
    %w = graph.get @w : tensor<4x4xf32>
    %m = graph.get @w.momentum : tensor<4x4xf32>
    %p, %b = graph.sgd %w, %g, %m lr %lr grad_scale %one apply %one {momentum = 0.9, weight_decay = 0.0} : tensor<4x4xf32>
    graph.set @w, %p : tensor<4x4xf32>
    graph.set @w.momentum, %b : tensor<4x4xf32>
    graph.return %loss : tensor<f32>
  }
}
