// What declarations and rank scalars look like.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s -mlir-print-op-generic | dtc-opt | FileCheck %s
exec.program @split mesh ["dp", "cp", "tp"] sizes [2, 4, 2] {
  // Axis 2 outside of axis 0.
  // CHECK: exec.parameter "w" %w global [30, 4] stored [120] local [8, 4] axes {{\[\[}}2, 0], []] init zeros
  %w = exec.buffer "w" parameter f32 128 bytes persistent
  exec.parameter "w" %w global [30, 4] stored [120] local [8, 4] axes [[2, 0], []] init zeros
  // Two pieces of ceil(60 / 16) each.
  // CHECK: exec.state "p" %p global [60] stored [60] local [8] axes {{\[\[}}1, 2]] zigzag [1] init zeros
  %p = exec.buffer "p" optimizer f32 32 bytes persistent
  exec.state "p" %p global [60] stored [60] local [8] axes [[1, 2]] zigzag [1] init zeros
  // CHECK: exec.input "tokens" %tokens shape [1, 2, 16] axes {{\[\[}}], [0], [1]] zigzag [1]
  %tokens = exec.buffer "tokens" input i32 128 bytes persistent
  exec.input "tokens" %tokens shape [1, 2, 16] axes [[], [0], [1]] zigzag [1]

  // Terms stand in the order of the axes; those of one axis add up, and those that add up to 0 go.
  %x = exec.buffer "x" temporary f32 512 bytes
  %y = exec.buffer "y" temporary f32 16 bytes
  exec.task @step {
    // CHECK: exec.copy %x to %y sizes [4] from [1] at <56 + 4 * axis 0 - 8 * axis 1> into [1] at <0>
    exec.copy %x to %y sizes [4] from [1] at <56 - 8 * axis 1 + 3 * axis 0 + 1 * axis 0> into [1] at <0>
    // CHECK: exec.copy %x to %y sizes [4] from [1] at <4> into [1] at <0>
    exec.copy %x to %y sizes [4] from [1] at <4 + 5 * axis 2 - 5 * axis 2> into [1] at <0>
  }
}

// Tasks, the order of their runs, what adds up over micro-batches, and what there is of several at once.
// CHECK-LABEL: exec.program @tasks mesh ["dp"] sizes [1] micro_batches 2 events 3
exec.program @tasks mesh ["dp"] sizes [1] micro_batches 2 events 3 {
  // CHECK: exec.buffer "g" gradient f32 64 bytes carried
  %g = exec.buffer "g" gradient f32 64 bytes carried
  // CHECK: exec.buffer "a" activation f32 64 bytes slots 2
  %a = exec.buffer "a" activation f32 64 bytes slots 2
  %x = exec.buffer "x" input f32 128 bytes persistent
  // CHECK: exec.view %x "x.1" f32 64 bytes at 0 + 64 * micro_batch
  %x1 = exec.view %x "x.1" f32 64 bytes at 0 + 64 * micro_batch
  // CHECK: exec.task @forward per_micro_batch {
  exec.task @forward per_micro_batch {
    // CHECK: exec.copy %{{.*}} to %a sizes [4] from [1] at <2 + 4 * axis 0 - 1 * micro_batch> into [1] at <0>
    exec.copy %x1 to %a sizes [4] from [1] at <2 - 1 * micro_batch + 4 * axis 0> into [1] at <0>
    // CHECK: exec.copy %a to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.copy %a to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    // CHECK: exec.zero %a last
    exec.zero %a last
    // CHECK: exec.record 1 slots 2{{$}}
    exec.record 1 slots 2
  }
  // CHECK: exec.task @update {
  exec.task @update {
    exec.zero %x
  }
  // CHECK: exec.entry train order [@forward 0, @forward 1, @update]
  exec.entry train order [@forward 0, @forward 1, @update]
  // CHECK: exec.entry evaluate order [@forward 1]
  exec.entry evaluate order [@forward 1]
}

// One program for each class of ranks; lists of ranks that no mesh axis has.
// CHECK-LABEL: exec.program @first mesh ["pp", "dp"] sizes [2, 2] ranks [0, 1] micro_batches 2
exec.program @first mesh ["pp", "dp"] sizes [2, 2] ranks [0, 1] micro_batches 2 {
  %y = exec.buffer "y" activation f32 64 bytes
  %w = exec.buffer "w" gradient f32 64 bytes
  exec.task @forward per_micro_batch {
    // CHECK: exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    // CHECK: exec.receive %w over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline last
    exec.receive %w over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline last
  }
  exec.task @update {
    // CHECK: exec.collective all_reduce sum %w to %w over <"ends", 4, [0, 1, 2, 3]> count 16 "w" gradient
    exec.collective all_reduce sum %w to %w over <"ends", 4, [0, 1, 2, 3]> count 16 "w" gradient
    // CHECK: exec.collective all_reduce sum %w to %w axes [1] count 16 "w" gradient
    exec.collective all_reduce sum %w to %w axes [1] count 16 "w" gradient
    // CHECK: exec.collective all_reduce sum %w to %w axes [] count 16 "w" gradient
    exec.collective all_reduce sum %w to %w axes [] count 16 "w" gradient
  }
}

// Layers that stand there once.
// CHECK-LABEL: exec.program @layers
exec.program @layers mesh ["dp"] sizes [1] arena 256 bytes streams 2 events 4 {
  %a = exec.buffer "a" temporary f32 64 bytes at 64
  %b = exec.buffer "b" temporary f32 64 bytes at 0
  // CHECK: %all = exec.per_layer[%a, %b] "all"
  %all = exec.per_layer [%a, %b] "all"
  exec.task @t {
    // CHECK: exec.repeat 2 {
    exec.repeat 2 {
      // CHECK-NEXT: exec.copy %a to %b sizes [4] from [1] at <0 + 4 * layer> into [1] at <8 + 1 * micro_batch - 4 * layer>
      exec.copy %a to %b sizes [4] from [1] at <0 + 4 * layer> into [1] at <8 - 4 * layer + 1 * micro_batch>
      // CHECK-NEXT: exec.zero %all
      exec.zero %all
      // CHECK-NEXT: exec.record 3 + -2 * layer stream 1
      exec.record 3 + -2 * layer stream 1
    }
  }
}

// Optimizer state in the memory of the host: kernels work there, copies go there and back.
// CHECK-LABEL: exec.program @offloaded mesh ["dp"] sizes [1] arena 128 bytes host 128 bytes
// CHECK:         exec.buffer "m" optimizer f32 64 bytes persistent space host at 0
// CHECK:         exec.buffer "g.host" temporary f32 64 bytes space host at 64
exec.program @offloaded mesh ["dp"] sizes [1] arena 128 bytes host 128 bytes {
  %w = exec.buffer "w" parameter f32 64 bytes persistent at 0
  %g = exec.buffer "g" gradient f32 64 bytes at 64
  %m = exec.buffer "m" optimizer f32 64 bytes persistent space host at 0
  %there = exec.buffer "g.host" temporary f32 64 bytes space host at 64
  exec.kernel @k buffers [64, 64]
  exec.task @update {
    exec.zero %g
    exec.copy %g to %there sizes [16] from [1] at <0> into [1] at <0>
    exec.launch @k(%there) to(%m) range 1
    exec.copy %m to %w sizes [16] from [1] at <0> into [1] at <0>
  }
}
