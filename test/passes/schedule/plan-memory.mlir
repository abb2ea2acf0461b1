// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-plan-memory,dtc-verify-exec))' | FileCheck %s

// What is over makes room; what is kept lies first.
// CHECK-LABEL: exec.program @reuses
// CHECK-SAME:    arena 192 bytes
// CHECK:         exec.buffer "a" temporary f32 64 bytes at [[A:64|128]]
// CHECK:         exec.buffer "c" temporary f32 64 bytes at [[A]]
// CHECK:         exec.buffer "p" parameter f32 64 bytes persistent at 0
exec.program @reuses mesh ["dp"] sizes [1] {
  %a = exec.buffer "a" temporary f32 64 bytes
  %b = exec.buffer "b" temporary f32 64 bytes
  %c = exec.buffer "c" temporary f32 64 bytes
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  exec.task @step {
    exec.zero %a
    exec.gemm %p, %a to %b sizes [4, 4, 4] strides [4, 4, 4]
    exec.gemm %p, %b to %c sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// Another stream holds on to its memory until stream 0 has waited for it.
// CHECK-LABEL: exec.program @waits
// CHECK-SAME:    arena 128 bytes
exec.program @waits mesh ["dp"] sizes [2] streams 2 events 2 {
  %a = exec.buffer "a" temporary f32 64 bytes
  %b = exec.buffer "b" temporary f32 64 bytes
  exec.task @step {
    exec.zero %a
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_reduce sum %a to %a axes [0] count 16 "a" gradient async stream 1
    exec.record 1 stream 1
    exec.zero %b
    exec.wait 1
  }
}

// With several micro-batches under way the wait helps the last one alone: the weight gradients of the one before it, which
// run between, find no room where the other stream still reads.
// CHECK-LABEL: exec.program @interleaved
// CHECK-SAME:    arena 448 bytes
exec.program @interleaved mesh ["dp"] sizes [2] micro_batches 4 streams 2 events 2 {
  %a = exec.buffer "a" communication f32 128 bytes
  %t = exec.buffer "t" temporary f32 128 bytes
  %b = exec.buffer "b" gradient f32 64 bytes
  %g = exec.buffer "g" gradient f32 128 bytes carried
  exec.task @backward per_micro_batch {
    exec.zero %a last
    exec.record 0 last
    exec.wait 0 stream 1 last
    exec.collective reduce_scatter sum %a to %b axes [0] count 16 "a" gradient async stream 1 last
    exec.record 1 stream 1 last
  }
  exec.task @weight_gradients per_micro_batch {
    exec.wait 1 last
    exec.zero %t
    exec.copy %t to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.entry train order [@backward 0, @backward 1, @weight_gradients 0, @weight_gradients 1, @backward 2, @backward 3,
    @weight_gradients 2, @weight_gradients 3]
}

// What every run of a task gathers is over with the run, whichever runs stand around it: its memory is also that of a task
// that stands before it.
// CHECK-LABEL: exec.program @in_every_run
// CHECK-SAME:    arena 192 bytes
exec.program @in_every_run mesh ["dp"] sizes [2] micro_batches 2 streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %t = exec.buffer "t" temporary f32 128 bytes
  %all = exec.buffer "all" communication f32 128 bytes
  exec.task @forward.0 per_micro_batch {
    exec.zero %t
  }
  exec.task @forward.1 per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1
  }
  exec.entry train order [@forward.0 0, @forward.0 1, @forward.1 0, @forward.1 1]
}

// A task that stands first runs again behind the last run of another: what that has made is not overwritten.
// CHECK-LABEL: exec.program @runs_again
// CHECK-SAME:    arena 192 bytes
exec.program @runs_again mesh ["dp"] sizes [1] micro_batches 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %t = exec.buffer "t" temporary f32 64 bytes
  %b = exec.buffer "b" gradient f32 64 bytes
  exec.task @backward per_micro_batch {
    exec.zero %t
  }
  exec.task @weight_gradients per_micro_batch {
    exec.zero %b last
  }
  exec.task @update {
    exec.copy %b to %p sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@backward 0, @weight_gradients 0, @weight_gradients 1, @backward 1, @update]
}

// Each memory is planned by itself, from byte 0 on: what is there at one time in the one takes no room in the other.
// CHECK-LABEL: exec.program @memories
// CHECK-SAME:    arena 64 bytes host 192 bytes
// CHECK:         exec.buffer "g" gradient f32 64 bytes at 0
// CHECK:         exec.buffer "a" temporary f32 128 bytes space host at 64
// CHECK:         exec.buffer "b" temporary f32 128 bytes space host at 64
// CHECK:         exec.buffer "m" optimizer f32 64 bytes persistent space host at 0
exec.program @memories mesh ["dp"] sizes [1] {
  %g = exec.buffer "g" gradient f32 64 bytes
  %a = exec.buffer "a" temporary f32 128 bytes space host
  %b = exec.buffer "b" temporary f32 128 bytes space host
  %m = exec.buffer "m" optimizer f32 64 bytes persistent space host
  exec.task @step {
    exec.zero %g
    exec.zero %a
    exec.copy %g to %m sizes [16] from [1] at <0> into [1] at <0>
    exec.zero %b
  }
}
