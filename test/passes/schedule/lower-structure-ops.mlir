// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file | FileCheck %s

// Reads and writes of parameters, scalars of the runtime, and calls of generated kernels.

// A read is the buffer itself; a write is a copy at the very end, so that every read sees the value before. What is written
// back unchanged needs no copy.
// CHECK-LABEL: module @get_and_set
// CHECK:         %w = exec.buffer "w" parameter f32 128 bytes persistent
// CHECK:         exec.parameter "w" %w global [7, 8] stored [56] local [4, 8] axes {{\[\[}}0], []] init normal stddev 2.000000e-02 key
// CHECK:         %w.m = exec.buffer "w.m" optimizer f32 64 bytes persistent
// CHECK:         exec.state "w.m" %w.m global [7, 8] stored [56] local [4, 4] axes {{\[\[}}0], [1]] init zeros{{$}}
module @get_and_set {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @w : tensor<7x8xf32> init normal(0.0, 0.02) stored [56] placement <[shard(0), replicate]>
  graph.parameter @same : tensor<4x8xf32> init ones
  graph.state @w.m of @w : tensor<7x8xf32> placement <[shard(0), shard(1)]>
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    %w = graph.get @w : tensor<4x8xf32>
    %same = graph.get @same : tensor<4x8xf32>
    %m = graph.get @w.m : tensor<4x4xf32>
    // CHECK:      exec.gemm %w transposed, %w to %[[A:.*]] sizes [8, 8, 4]
    %a = graph.matmul %w transposed, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // CHECK-NEXT: exec.gemm %w, %[[A]] to %[[B:.*]] sizes [4, 8, 8]
    %b = graph.matmul %w, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    graph.set @w, %b : tensor<4x8xf32>
    graph.set @same, %same : tensor<4x8xf32>
    // CHECK-NEXT: exec.gemm %w.m transposed, %w.m to %[[M:.*]] sizes [4, 4, 4]
    %c = graph.matmul %m transposed, %m : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.set @w.m, %c : tensor<4x4xf32>
    // CHECK-NEXT: exec.gemm %w, %w transposed
    %again = graph.get @w : tensor<4x8xf32>
    %d = graph.matmul %again, %again transposed : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: exec.copy %[[B]] to %w sizes [32] from [1] at <0> into [1] at <0>{{$}}
    // CHECK-NEXT: exec.copy %[[M]] to %w.m sizes [16] from [1] at <0> into [1] at <0>{{$}}
    // CHECK-NEXT: }
    graph.return
  }
}

// -----
// Each scalar is declared once, however often it is read.
// CHECK-LABEL: module @input
// CHECK:         exec.output learning_rate %learning_rate
// CHECK:         %base_lr = exec.buffer "base_lr" input f32 4 bytes persistent
// CHECK-NEXT:    exec.scalar base_lr %base_lr
// CHECK:         %step = exec.buffer "step" input f32 4 bytes persistent
// CHECK-NEXT:    exec.scalar step %step
// CHECK-NOT:     exec.scalar
module @input {
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() -> (tensor<f32> {graph.output = "learning_rate"}) {
    %lr = graph.input base_lr : tensor<f32>
    %step = graph.input step : tensor<f32>
    %again = graph.input step : tensor<f32>
    // CHECK: exec.launch @rate(%base_lr, %step, %step) to(%update.rate.0) range 1{{$}}
    %r = graph.call @rate(%lr, %step, %again) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
    // CHECK-NEXT: exec.copy %update.rate.0 to %learning_rate sizes [1]
    graph.return %r : tensor<f32>
  }
  graph.func private @rate(%lr: tensor<f32>, %step: tensor<f32>, %again: tensor<f32>) -> tensor<f32> attributes {kernel, kernel_range = 1 : i64} {
    %0 = graph.multiply %lr, %step : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.return %0 : tensor<f32>
  }
}

// -----
// A kernel is declared once, with what it takes; its scalars are where this rank's part of its loops starts.
// CHECK-LABEL: module @call
// CHECK:         exec.kernel @shift buffers [128, 4, 128] scalars 3 points 8 combines in_place [array<i64: 0, 0>]
// CHECK-NOT:     exec.kernel
module @call {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @x : tensor<8x8xf32> init zeros placement <[replicate, shard(0)]>
  graph.parameter @s : tensor<f32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x8xf32>
    %s = graph.get @s : tensor<f32>
    // CHECK: exec.launch @shift(%x, %s) to(%shift.0) range 4
    // CHECK-SAME: scalars [#exec.rank_scalar<0 + 4 * axis 1>, #exec.rank_scalar<0>, #exec.rank_scalar<0>]{{$}}
    %0 = graph.call @shift(%x, %s) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    // CHECK-NEXT: exec.launch @shift(%shift.0, %s) to(%shift.1) range 4
    %1 = graph.call @shift(%0, %s) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
  graph.func private @shift(%x: tensor<4x8xf32>, %s: tensor<f32>) -> tensor<4x8xf32> attributes {kernel, kernel_range = 4 : i64, kernel_points = 8 : i64, kernel_combines,
      kernel_in_place = [array<i64: 0, 0>],
      kernel_scalars = [#graph.window<loop = 0, local = 4, global = 8, axes = [1]>, #graph.window<loop = 1, local = 8, global = 8, axes = [0]>,
                        #graph.window<loop = 1, local = 8, global = 8>]} {
    %0 = graph.add %x, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    graph.return %0 : tensor<4x8xf32>
  }
}
