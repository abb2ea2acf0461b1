// RUN: dtc-opt %s --dtc-schedule='slots=2 split-backward=true' | FileCheck %s

// Two of three micro-batches are under way at once: what they keep from task to task has two slots, sums and scratch have none.
// The product for the weight, which nothing waits for but the update, is a task of its own.
// CHECK-LABEL: exec.program @step mesh ["dp"] sizes [1] micro_batches 3
// CHECK-SAME:    arena 1344 bytes attributes {exec.lower_bound_bytes = 1344 : i64}
// CHECK:         exec.buffer "grad w" gradient f32 64 bytes carried at
// CHECK:         %[[Y:.*]] = exec.buffer "linear.0" temporary f32 128 bytes at
// CHECK:         %[[DY:.*]] = exec.buffer "kernel_0.1" activation f32 128 bytes slots 2 at
// CHECK:         %[[DZ:.*]] = exec.buffer "kernel_1.0" activation f32 128 bytes slots 2 at
// CHECK:         %[[XM:.*]] = exec.view %x "x.micro_batch" f32 128 bytes at 0 + 128 * micro_batch
// CHECK:         exec.task @forward per_micro_batch {
// CHECK-NEXT:      exec.gemm %[[XM]], %w to %[[Y]]
// CHECK-NEXT:      exec.launch @kernel_0(%[[Y]]) to(%{{.*}}, %[[DY]])
// CHECK:         exec.task @backward per_micro_batch {
// CHECK-NEXT:      exec.launch @kernel_1(%[[DY]]) to(%[[DZ]]) range 1
// CHECK-NEXT:    }
// CHECK:         exec.task @weight_gradients per_micro_batch {
// CHECK-NEXT:      exec.gemm %[[XM]] transposed, %[[DZ]] to %grad_w {{.*}} starts_sum
// CHECK-NEXT:    }
// CHECK:         exec.task @loss {
// CHECK:         exec.task @update {
// CHECK:         exec.entry train order [@forward 0, @forward 1, @backward 0, @backward 1,
// CHECK-SAME:      @weight_gradients 0, @weight_gradients 1, @forward 2, @backward 2, @weight_gradients 2, @loss, @gradients, @update]
// CHECK:         exec.entry gradients order [@forward 0,
// CHECK-SAME:      @weight_gradients 2, @loss, @gradients]
// CHECK:         exec.entry evaluate order [@forward 0, @forward 1, @forward 2, @loss]
module attributes {graph.micro_batches = 3 : i64} {
  graph.parameter @w : tensor<4x4xf32> init zeros
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "x"})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4x4xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w : tensor<4x4xf32>
    %y = graph.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %loss, %dy = graph.call @kernel_0(%y) : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
    %dz = graph.call @kernel_1(%dy) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %dw = graph.linear_weight_grad %x, %dz : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    graph.return %loss, %dw : tensor<f32>, tensor<4x4xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %dw: tensor<4x4xf32> {graph.gradient_of = @w})
      -> (tensor<f32> {graph.output = "loss"}) {
    %w = graph.get @w : tensor<4x4xf32>
    %new = graph.call @kernel_2(%w, %dw) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.set @w, %new : tensor<4x4xf32>
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
  graph.func private @kernel_2(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.subtract %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.return %z : tensor<4x4xf32>
  }
}
