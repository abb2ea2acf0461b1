// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-verify-exec))' -split-input-file -verify-diagnostics

// expected-error @+1 {{has no arena size; run dtc-plan-memory first}}
exec.program @unplanned mesh ["dp"] sizes [1] {}

// -----
exec.program @shared mesh ["dp"] sizes [1] arena 64 bytes {
  // expected-note @+1 {{the other buffer}}
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  // expected-error @+1 {{'b' shares bytes with 'a', and both are live at one time}}
  %b = exec.buffer "b" temporary f32 64 bytes at 0
  exec.task @step {
    exec.zero %a
    exec.zero %b
    exec.zero %a
  }
}

// -----
exec.program @unwritten mesh ["dp"] sizes [1] arena 128 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @step {
    // expected-error @+1 {{reads bytes 0 to 64 of 'a', which are not all written before}}
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
}

// -----
exec.program @race mesh ["dp"] sizes [2] arena 64 bytes streams 2 {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  exec.task @step {
    // expected-note @+1 {{the other instruction}}
    exec.zero %a
    // expected-error @+1 {{uses 'a' at the same time as an instruction of another stream}}
    exec.collective all_reduce sum %a to %a axes [0] count 16 "a" gradient async stream 1
  }
}

// -----
exec.program @event mesh ["dp"] sizes [2] arena 64 bytes events 1 {
  exec.task @step {
    // expected-error @+1 {{waits for event 0, which no instruction before it records}}
    exec.wait 0
  }
}

// -----
// What lasts from step to step shares with nothing, whenever that is live.
exec.program @kept mesh ["dp"] sizes [1] arena 64 bytes {
  // expected-note @+1 {{the other buffer}}
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  // expected-error @+1 {{'a' shares bytes with 'p', and both are live at one time}}
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  exec.task @step {
    exec.copy %p to %p sizes [8] from [1] at <0> into [1] at <8>
    exec.zero %a
  }
}

// -----
// A sum is there in all that micro-batches run, before its first addend, too.
exec.program @sum mesh ["dp"] sizes [1] micro_batches 2 arena 128 bytes {
  // expected-note @+1 {{the other buffer}}
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  // expected-error @+1 {{'g' shares bytes with 'a', and both are live at one time}}
  %g = exec.buffer "g" gradient f32 64 bytes carried at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @micro_batch per_micro_batch {
    exec.zero %a
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %b to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
// Nor may what comes after its last addend overwrite it for the next micro-batch.
exec.program @after mesh ["dp"] sizes [1] micro_batches 2 arena 128 bytes {
  // expected-note @+1 {{the other buffer}}
  %g = exec.buffer "g" gradient f32 64 bytes carried at 0
  // expected-error @+1 {{'a' shares bytes with 'g', and both are live at one time}}
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @micro_batch per_micro_batch {
    exec.zero %b
    exec.copy %b to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.zero %a
  }
}

// -----
exec.program @overwritten mesh ["dp"] sizes [1] micro_batches 2 arena 64 bytes {
  %g = exec.buffer "g" gradient f32 64 bytes carried at 0
  exec.task @micro_batch per_micro_batch {
    // expected-error @+1 {{overwrites 'g', to which every run of its task should add}}
    exec.zero %g
  }
}

// -----
exec.program @left mesh ["dp"] sizes [1] micro_batches 2 arena 128 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @micro_batch per_micro_batch {
    exec.zero %a
  }
  exec.task @update {
    // expected-error @+1 {{reads 'a', of which each run of task 'micro_batch' has another; only what is carried adds up}}
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
}

// -----
exec.program @last mesh ["dp"] sizes [1] micro_batches 2 arena 128 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @micro_batch per_micro_batch {
    exec.zero %a last
    // expected-error @+1 {{reads 'a' in every run of its task, but it is written in the last alone}}
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
}

// -----
exec.program @stream mesh ["dp"] sizes [2] micro_batches 2 arena 64 bytes streams 2 events 1 {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  exec.task @micro_batch per_micro_batch {
    exec.zero %a
    exec.record 0
    exec.wait 0 stream 1 last
    // expected-error @+1 {{runs on stream 1 in every run of its task; only the last run may have others than stream 0}}
    exec.collective all_reduce sum %a to %a axes [0] count 16 "a" gradient async stream 1
  }
}

// -----
exec.program @slot mesh ["dp"] sizes [1] micro_batches 2 slots 2 of 64 bytes arena 128 bytes {
  // expected-error @+1 {{'a' is kept from task to task, but is not per slot}}
  %a = exec.buffer "a" activation f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
}

// -----
exec.program @among mesh ["dp"] sizes [1] micro_batches 2 slots 2 of 64 bytes arena 192 bytes {
  %a = exec.buffer "a" activation f32 64 bytes per_slot at 0
  // expected-error @+1 {{'b' lies among the slots}}
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
}

// -----
// expected-error @+1 {{has slots of 64 bytes for buffers that take 128}}
exec.program @small mesh ["dp"] sizes [1] micro_batches 2 slots 2 of 64 bytes arena 256 bytes {
  %a = exec.buffer "a" activation f32 64 bytes per_slot at 0
  %b = exec.buffer "b" activation f32 64 bytes per_slot at 64
  exec.task @forward per_micro_batch {
    exec.zero %a
    exec.zero %b
  }
}

// -----
exec.program @shared_slot mesh ["dp"] sizes [1] micro_batches 2 slots 2 of 64 bytes arena 256 bytes {
  %a = exec.buffer "a" activation f32 64 bytes per_slot at 0
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @update {
    // expected-error @+1 {{uses 'a', of which each slot has one, in a task of all}}
    exec.zero %a
  }
}

// -----
// The last backward of several under way leaves work to another stream; the weight gradients of those before it do not
// wait for that.
exec.program @interleaved mesh ["dp"] sizes [2] micro_batches 4 slots 2 of 0 bytes arena 320 bytes streams 2 events 2 {
  // expected-note @+1 {{the other buffer}}
  %a = exec.buffer "a" communication f32 128 bytes at 0
  // expected-error @+1 {{'t' shares bytes with 'a', and both are live at one time}}
  %t = exec.buffer "t" temporary f32 128 bytes at 0
  %b = exec.buffer "b" gradient f32 64 bytes at 128
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
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
}

// -----
// Every layer is checked: the second one reads what nobody has written.
exec.program @layers mesh ["dp"] sizes [1] arena 256 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  %c = exec.buffer "c" temporary f32 64 bytes at 128
  %all = exec.per_layer [%a, %b] "all"
  exec.task @step {
    exec.zero %a
    exec.repeat 2 {
      // expected-error @+1 {{reads bytes 0 to 64 of 'b', which are not all written before}}
      exec.copy %all to %c sizes [16] from [1] at <0> into [1] at <0>
    }
  }
}

// -----
// By itself an instruction is checked in all layers, too.
exec.program @overlap mesh ["dp"] sizes [2] arena 256 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  %c = exec.buffer "c" temporary f32 64 bytes at 128
  %all = exec.per_layer [%a, %b] "all"
  exec.task @step {
    exec.zero %b
    exec.zero %c
    exec.repeat 2 {
      // expected-error @+1 {{writes 'b', which it also reads}}
      exec.gemm %c, %b to %all sizes [4, 4, 4] strides [4, 4, 4]
    }
  }
}
