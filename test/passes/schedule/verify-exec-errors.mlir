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
// A run that forks from stream 0 and joins it is over when the next one starts.
exec.program @forks mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %all = exec.buffer "all" communication f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
// The collective of the second micro-batch may overwrite what the first one still adds to its sum.
exec.program @no_fork mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %all = exec.buffer "all" communication f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    // expected-error @+1 {{runs on stream 1 in every run of its task, but waits for nothing that stream 0 does in that run; the run before may still be under way}}
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
// A fork that the last run has alone says nothing of those before.
exec.program @fork_of_last mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %all = exec.buffer "all" communication f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1 last
    // expected-error @+1 {{runs on stream 1 in every run of its task, but waits for nothing that stream 0 does in that run; the run before may still be under way}}
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
exec.program @record_of_last mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %all = exec.buffer "all" communication f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0 last
    exec.wait 0 stream 1
    // expected-error @+1 {{runs on stream 1 in every run of its task, but waits for nothing that stream 0 does in that run; the run before may still be under way}}
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
exec.program @no_wait mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %all = exec.buffer "all" communication f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    // expected-note @+1 {{the other instruction}}
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    // expected-error @+1 {{uses 'all' at the same time as an instruction of another stream}}
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
// Nor does a wait.
exec.program @wait_of_last mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %all = exec.buffer "all" communication f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    // expected-note @+1 {{the other instruction}}
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1 last
    // expected-error @+1 {{uses 'all' at the same time as an instruction of another stream}}
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
}

// -----
// What nobody else uses in the run is waited for as well, in that run.
exec.program @no_join mesh ["dp"] sizes [2] micro_batches 2 arena 192 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %q = exec.buffer "q" parameter f32 128 bytes persistent at 64
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    // expected-error @+1 {{runs on stream 1 in every run of its task, but stream 0 does not wait for it in that run; the next run may start before it is over}}
    exec.collective all_gather sum %p to %q axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
    exec.wait 1 last
  }
}

// -----
exec.program @joined_later mesh ["dp"] sizes [2] micro_batches 2 arena 192 bytes streams 2 events 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  %q = exec.buffer "q" parameter f32 128 bytes persistent at 64
  exec.task @forward per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    // expected-error @+1 {{runs on stream 1 in every run of its task, but stream 0 does not wait for it in that run; the next run may start before it is over}}
    exec.collective all_gather sum %p to %q axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1
  }
  exec.task @backward per_micro_batch {
    exec.wait 1
  }
}

// -----
// Memory that the runs use on another stream is taken until stream 0 waits for it in each of them, not in the last alone.
exec.program @taken mesh ["dp"] sizes [2] micro_batches 2 arena 320 bytes streams 2 events 3 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  // expected-note @+1 {{the other buffer}}
  %all = exec.buffer "all" communication f32 128 bytes at 64
  // expected-error @+1 {{'t' shares bytes with 'all', and both are live at one time}}
  %t = exec.buffer "t" temporary f32 128 bytes at 64
  %g = exec.buffer "g" gradient f32 128 bytes carried at 192
  exec.task @micro_batch per_micro_batch {
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async stream 1
    exec.record 1 stream 1 last
    exec.record 2 stream 1
    exec.wait 1 last
    exec.zero %t
    exec.copy %t to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.wait 2
  }
}

// -----
exec.program @slot mesh ["dp"] sizes [1] micro_batches 2 arena 128 bytes {
  // expected-error @+1 {{'a' is kept from task to task while other micro-batches run, but has no slots}}
  %a = exec.buffer "a" activation f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@forward 0, @forward 1, @backward 0, @backward 1]
}

// -----
// No byte of any slot is another buffer's.
exec.program @among mesh ["dp"] sizes [1] micro_batches 2 arena 192 bytes {
  // expected-note @+1 {{the other buffer}}
  %a = exec.buffer "a" activation f32 64 bytes slots 2 at 0
  // expected-error @+1 {{'b' shares bytes with 'a', and both are live at one time}}
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@forward 0, @forward 1, @backward 0, @backward 1]
}

// -----
// Of three micro-batches at once two would have one slot.
exec.program @small mesh ["dp"] sizes [1] micro_batches 3 arena 256 bytes {
  // expected-error @+1 {{'a' has 2 slots, in which the order keeps two micro-batches at once or reads what is not there yet}}
  %a = exec.buffer "a" activation f32 64 bytes slots 2 at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 128
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@forward 0, @forward 1, @forward 2, @backward 0, @backward 1, @backward 2]
}

// -----
// A micro-batch that goes backward before it went forward.
exec.program @early mesh ["dp"] sizes [1] micro_batches 2 arena 256 bytes {
  // expected-error @+1 {{'a' has 2 slots, in which the order keeps two micro-batches at once or reads what is not there yet}}
  %a = exec.buffer "a" activation f32 64 bytes slots 2 at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 128
  exec.task @forward per_micro_batch {
    exec.zero %a
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@forward 0, @backward 1, @forward 1, @backward 0]
}

// -----
// Of two tasks that add to a sum the one that starts it runs second.
exec.program @lost mesh ["dp"] sizes [1] micro_batches 2 arena 256 bytes {
  %a = exec.buffer "a" input f32 64 bytes persistent at 0
  %g = exec.buffer "g" gradient f32 64 bytes carried at 64
  exec.task @forward per_micro_batch {
    exec.copy %a to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @backward per_micro_batch {
    // expected-error @+1 {{adds to 'g' before the run that starts the sum, which would lose it}}
    exec.copy %a to %g sizes [16] from [1] at <0> into [1] at <0> accumulate
  }
  exec.entry train order [@backward 0, @forward 0, @forward 1, @backward 1]
}

// -----
// What the last run of one task does with the sum, when another one has still to add.
exec.program @unfinished mesh ["dp"] sizes [1] micro_batches 2 arena 256 bytes {
  %a = exec.buffer "a" input f32 64 bytes persistent at 0
  %g = exec.buffer "g" gradient f32 64 bytes carried at 64
  exec.task @forward per_micro_batch {
    exec.copy %a to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @backward per_micro_batch {
    exec.copy %a to %g sizes [16] from [1] at <0> into [1] at <0> accumulate
    // expected-error @+1 {{uses 'g' before the last run that adds to it}}
    exec.collective all_reduce sum %g to %g axes [0] count 16 "g" gradient last
  }
  exec.entry train order [@forward 0, @backward 0, @backward 1, @forward 1]
}

// -----
exec.program @shared_slot mesh ["dp"] sizes [1] micro_batches 2 arena 256 bytes {
  %a = exec.buffer "a" activation f32 64 bytes slots 2 at 0
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
exec.program @interleaved mesh ["dp"] sizes [2] micro_batches 4 arena 320 bytes streams 2 events 2 {
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
  exec.entry train order [@backward 0, @backward 1, @weight_gradients 0, @weight_gradients 1, @backward 2, @backward 3,
    @weight_gradients 2, @weight_gradients 3]
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

// -----
// A task that stands first runs once more behind the last run of the one that makes 'b'.
exec.program @runs_again mesh ["dp"] sizes [1] micro_batches 2 arena 128 bytes {
  %p = exec.buffer "p" parameter f32 64 bytes persistent at 0
  // expected-note @+1 {{the other buffer}}
  %t = exec.buffer "t" temporary f32 64 bytes at 64
  // expected-error @+1 {{'b' shares bytes with 't', and both are live at one time}}
  %b = exec.buffer "b" gradient f32 64 bytes at 64
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

// -----
// Equal places in the two memories are not the same bytes; those in one are.
exec.program @memories mesh ["dp"] sizes [1] arena 64 bytes host 128 bytes {
  %g = exec.buffer "g" temporary f32 64 bytes at 0
  // expected-note @+1 {{the other buffer}}
  %m = exec.buffer "m" optimizer f32 64 bytes persistent space host at 0
  // expected-error @+1 {{'t' shares bytes with 'm', and both are live at one time}}
  %t = exec.buffer "t" temporary f32 64 bytes space host at 0
  exec.task @step {
    exec.zero %g
    exec.copy %g to %t sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %g to %m sizes [16] from [1] at <0> into [1] at <0>
  }
}
