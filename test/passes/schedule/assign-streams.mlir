// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-assign-streams{in-flight=2}))' | FileCheck %s

// Stream 0 waits before it writes what stream 1 still reads.
// CHECK-LABEL: exec.program @write_after_read
// CHECK:         exec.zero %g
// CHECK-NEXT:    exec.record 0
// CHECK-NEXT:    exec.wait 0 stream 1
// CHECK-NEXT:    exec.collective reduce_scatter sum %g to %x {{.*}} stream 1
// CHECK-NEXT:    exec.record 1 stream 1
// CHECK-NEXT:    exec.zero %y
// CHECK-NEXT:    exec.wait 1
// CHECK-NEXT:    exec.zero %g
// CHECK-NEXT:  }
exec.program @write_after_read mesh ["dp"] sizes [2] {
  %g = exec.buffer "g" gradient f32 128 bytes
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    exec.zero %g
    exec.collective reduce_scatter sum %g to %x axes [0] count 16 "grad g" gradient async
    exec.zero %y
    exec.zero %g
  }
}

// Two collectives with buffers of their own are under way at most: before the third one stream 0 waits for the first.
// CHECK-LABEL: exec.program @throttle
// CHECK:         exec.collective all_gather sum %a to %c0 {{.*}} stream 1
// CHECK-NEXT:    exec.record [[FIRST:[0-9]+]] stream 1
// CHECK-NEXT:    exec.collective all_gather sum %a to %c1 {{.*}} stream 1
// CHECK-NEXT:    exec.record [[SECOND:[0-9]+]] stream 1
// CHECK-NEXT:    exec.wait [[FIRST]]{{$}}
// CHECK-NEXT:    exec.collective all_gather sum %a to %c2 {{.*}} stream 1
// CHECK-NEXT:    exec.wait [[SECOND]]{{$}}
// CHECK-NEXT:    exec.collective all_gather sum %a to %c3 {{.*}} stream 1
exec.program @throttle mesh ["dp"] sizes [2] {
  %a = exec.buffer "a" parameter f32 64 bytes persistent
  %c0 = exec.buffer "c0" communication f32 128 bytes
  %c1 = exec.buffer "c1" communication f32 128 bytes
  %c2 = exec.buffer "c2" communication f32 128 bytes
  %c3 = exec.buffer "c3" communication f32 128 bytes
  exec.task @step {
    exec.collective all_gather sum %a to %c0 axes [0] count 16 "a" parameter async
    exec.collective all_gather sum %a to %c1 axes [0] count 16 "a" parameter async
    exec.collective all_gather sum %a to %c2 axes [0] count 16 "a" parameter async
    exec.collective all_gather sum %a to %c3 axes [0] count 16 "a" parameter async
  }
}

// Of several micro-batches only the last one has another stream: its events are of that run alone. What every micro-batch
// runs stays on stream 0.
// CHECK-LABEL: exec.program @last
// CHECK:         exec.collective all_gather sum %p to %all {{.*}} parameter async{{$}}
// CHECK-NEXT:    exec.copy %all to %g {{.*}} accumulate starts_sum
// CHECK-NEXT:    exec.record 0 last
// CHECK-NEXT:    exec.wait 0 stream 1 last
// CHECK-NEXT:    exec.collective all_reduce sum %g to %g {{.*}} gradient async stream 1 last
// CHECK-NEXT:    exec.record 1 stream 1 last
// CHECK:         exec.task @update
// CHECK-NEXT:    exec.wait 1
// CHECK-NEXT:    exec.copy %g to %q
exec.program @last mesh ["dp"] sizes [2] micro_batches 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %q = exec.buffer "q" parameter f32 128 bytes persistent
  %all = exec.buffer "all" communication f32 128 bytes
  %g = exec.buffer "g" gradient f32 128 bytes carried
  exec.task @micro_batch per_micro_batch {
    exec.collective all_gather sum %p to %all axes [0] count 16 "p" parameter async
    exec.copy %all to %g sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.collective all_reduce sum %g to %g axes [0] count 32 "grad g" gradient async last
  }
  exec.task @update {
    exec.copy %g to %q sizes [32] from [1] at <0> into [1] at <0>
  }
}
