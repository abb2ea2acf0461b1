// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-prefetch-gathers,dtc-assign-streams,dtc-plan-memory,dtc-verify-exec))' | FileCheck %s
// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-prefetch-gathers{ahead=false}))' | FileCheck %s --check-prefix=BEHIND
// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-prefetch-gathers{bucket-bytes=100}))' | FileCheck %s --check-prefix=SMALL

// What a block needs is gathered as one while the block before computes, on stream 2, which does not start before that in
// any run of the task, and stream 0 waits for it where it is used.
// CHECK-LABEL: exec.program @blocks
// CHECK:         exec.task @forward
// CHECK:           exec.record [[START:[0-9]+]]{{$}}
// CHECK:           exec.wait [[START]] stream 2{{$}}
// CHECK:           exec.collective all_gather sum %[[S0:.*]] to %[[G0:.*]] axes [0] count 32 "a0 +1" parameter async stream 2
// CHECK-NEXT:      exec.copy %[[G0]] to %w0 {{.*}} stream 2
// CHECK:           exec.collective all_gather sum %a1 to %w1 axes [0] count 16 "a1" parameter async stream 2
// CHECK:           exec.gemm %x, %w0 to %y
// CHECK:           exec.gemm %y, %v0 to %z
// CHECK-NEXT:      exec.record [[DONE:[0-9]+]]{{$}}
// CHECK-NEXT:      exec.wait [[DONE]] stream 2{{$}}
// CHECK-NEXT:      exec.collective all_gather sum %a2 to %w2 axes [0] count 16 "a2" parameter async stream 2
// CHECK-NEXT:      exec.record [[LAST:[0-9]+]] stream 2{{$}}
// CHECK:           exec.gemm %z, %w1 to %y
// CHECK-NEXT:      exec.wait [[LAST]]{{$}}
// CHECK-NEXT:      exec.gemm %y, %w2 to %z

// Without overlap gathers stand where their block begins.
// BEHIND-LABEL: exec.program @blocks
// BEHIND:         exec.collective all_gather {{.*}} count 32 "a0 +1"
// BEHIND:         exec.gemm %x, %w0 to %y
// BEHIND-NEXT:    exec.gemm %y, %v0 to %z
// BEHIND-NEXT:    exec.collective all_gather sum %a1 to %w1
// BEHIND-NEXT:    exec.gemm %z, %w1 to %y
// BEHIND-NEXT:    exec.collective all_gather sum %a2 to %w2

// A bucket is no larger than it may be.
// SMALL-LABEL: exec.program @blocks
// SMALL:         exec.collective all_gather sum %a0 to %w0 axes [0] count 16
// SMALL-NEXT:    exec.collective all_gather sum %b0 to %v0 axes [0] count 16
exec.program @blocks mesh ["dp"] sizes [2] micro_batches 2 {
  %a0 = exec.buffer "a0" parameter f32 64 bytes persistent
  %b0 = exec.buffer "b0" parameter f32 64 bytes persistent
  %a1 = exec.buffer "a1" parameter f32 64 bytes persistent
  %a2 = exec.buffer "a2" parameter f32 64 bytes persistent
  %w0 = exec.buffer "w0" temporary f32 128 bytes
  %v0 = exec.buffer "v0" temporary f32 128 bytes
  %w1 = exec.buffer "w1" temporary f32 128 bytes
  %w2 = exec.buffer "w2" temporary f32 128 bytes
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  %z = exec.buffer "z" temporary f32 64 bytes
  exec.task @forward per_micro_batch {
    exec.zero %x
    exec.collective all_gather sum %a0 to %w0 axes [0] count 16 "a0" parameter async {exec.execution = 0 : i64}
    exec.gemm %x, %w0 to %y sizes [2, 8, 4] strides [4, 8, 8]
    exec.collective all_gather sum %b0 to %v0 axes [0] count 16 "b0" parameter async {exec.execution = 0 : i64}
    exec.gemm %y, %v0 to %z sizes [2, 8, 4] strides [4, 8, 8]
    exec.collective all_gather sum %a1 to %w1 axes [0] count 16 "a1" parameter async {exec.execution = 1 : i64}
    exec.gemm %z, %w1 to %y sizes [2, 8, 4] strides [4, 8, 8]
    exec.collective all_gather sum %a2 to %w2 axes [0] count 16 "a2" parameter async {exec.execution = 2 : i64}
    exec.gemm %y, %w2 to %z sizes [2, 8, 4] strides [4, 8, 8]
  }
}

// A gather stays where it is if something in front of it depends on it: what it overwrites is still read.
// SMALL-LABEL: exec.program @stays
// SMALL:         exec.collective all_gather sum %a0 to %w
// SMALL-NEXT:    exec.gemm %x, %w to %y
// SMALL-NEXT:    exec.collective all_gather sum %a1 to %w
// SMALL-NEXT:    exec.gemm %x, %w to %y
exec.program @stays mesh ["dp"] sizes [2] {
  %a0 = exec.buffer "a0" parameter f32 64 bytes persistent
  %a1 = exec.buffer "a1" parameter f32 64 bytes persistent
  %w = exec.buffer "w" temporary f32 128 bytes
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @forward per_micro_batch {
    exec.zero %x
    exec.collective all_gather sum %a0 to %w axes [0] count 16 "a0" parameter async {exec.execution = 0 : i64}
    exec.gemm %x, %w to %y sizes [2, 8, 4] strides [4, 8, 8]
    exec.collective all_gather sum %a1 to %w axes [0] count 16 "a1" parameter async {exec.execution = 1 : i64}
    exec.gemm %x, %w to %y sizes [2, 8, 4] strides [4, 8, 8]
  }
}

// What reads a gathered tensor is not in front of it: a gather over another axis of what one over the first has gathered.
// CHECK-LABEL: exec.program @chain
// CHECK:         exec.collective all_gather sum %a to %[[HALF:.*]] axes [1] count 16 "a" parameter async stream 2
// CHECK:         exec.collective all_gather sum %half to %w axes [0] count 32 {{.*}} stream 2
// CHECK:         exec.collective all_gather sum %b to %v axes [1] count 16 "b" parameter async stream 2
exec.program @chain mesh ["dp", "tp"] sizes [2, 2] {
  %a = exec.buffer "a" parameter f32 64 bytes persistent
  %b = exec.buffer "b" parameter f32 64 bytes persistent
  %half = exec.buffer "half" temporary f32 128 bytes
  %w = exec.buffer "w" temporary f32 256 bytes
  %v = exec.buffer "v" temporary f32 128 bytes
  %y = exec.buffer "y" temporary f32 128 bytes
  exec.task @forward per_micro_batch {
    exec.collective all_gather sum %a to %half axes [1] count 16 "a" parameter async {exec.execution = 0 : i64}
    exec.collective all_gather sum %half to %w axes [0] count 32 "a" parameter async {exec.execution = 0 : i64}
    exec.collective all_gather sum %b to %v axes [1] count 16 "b" parameter async {exec.execution = 0 : i64}
    exec.gemm %w, %v to %y sizes [4, 8, 4] strides [4, 8, 8]
  }
}

// Gathers of two groups that follow each other at once: those of the second stay behind its first.
// CHECK-LABEL: exec.program @neighbours
// CHECK:         exec.collective all_gather sum %a0 to %w0
// CHECK:         exec.copy %a1 to %[[MINE:.*]] sizes
// CHECK:         exec.copy %b1 to %[[MINE]] sizes
// CHECK:         exec.collective all_gather sum %[[MINE]] to %{{.*}} axes [0] count 32 "a1 +1" parameter async stream 2
// CHECK:         exec.gemm %x, %w0 to %y
exec.program @neighbours mesh ["dp"] sizes [2] {
  %a0 = exec.buffer "a0" parameter f32 64 bytes persistent
  %a1 = exec.buffer "a1" parameter f32 64 bytes persistent
  %b1 = exec.buffer "b1" parameter f32 64 bytes persistent
  %w0 = exec.buffer "w0" temporary f32 128 bytes
  %w1 = exec.buffer "w1" temporary f32 128 bytes
  %v1 = exec.buffer "v1" temporary f32 128 bytes
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  %z = exec.buffer "z" temporary f32 64 bytes
  exec.task @backward per_micro_batch {
    exec.zero %x
    exec.collective all_gather sum %a0 to %w0 axes [0] count 16 "a0" parameter async {exec.execution = -1 : i64}
    exec.collective all_gather sum %a1 to %w1 axes [0] count 16 "a1" parameter async {exec.execution = 0 : i64}
    exec.gemm %x, %w0 to %y sizes [2, 8, 4] strides [4, 8, 8]
    exec.gemm %y, %w1 to %z sizes [2, 8, 4] strides [4, 8, 8]
    exec.collective all_gather sum %b1 to %v1 axes [0] count 16 "b1" parameter async {exec.execution = 0 : i64}
    exec.gemm %z, %v1 to %y sizes [2, 8, 4] strides [4, 8, 8]
  }
}
