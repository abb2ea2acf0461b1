// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-bucket-collectives,dtc-assign-streams))' | FileCheck %s

// Gradient reductions become one over one buffer, on stream 1; what is added for alignment is zero.
// CHECK-LABEL: exec.program @all_reduces
// CHECK:         %[[ALL:.*]] = exec.buffer "gradients.0" gradient f32 192 bytes
// CHECK-DAG:     %[[GAP:.*]] = exec.view %[[ALL]] "gap" f32 60 bytes at 4
// CHECK-DAG:     %[[A:.*]] = exec.view %[[ALL]] "a" f32 4 bytes at 0
// CHECK-DAG:     %[[B:.*]] = exec.view %[[ALL]] "b" f32 128 bytes at 64
// CHECK:         exec.zero %[[A]]
// CHECK:         exec.zero %[[B]]
// CHECK:         exec.zero %[[GAP]]
// CHECK:         exec.record 0
// CHECK:         exec.wait 0 stream 1
// CHECK:         exec.collective all_reduce sum %[[ALL]] to %[[ALL]] axes [0] count 48 "grad a +1" gradient async stream 1
// CHECK:         exec.record 1 stream 1
// CHECK:         exec.wait 1
// CHECK-NOT:     exec.collective
exec.program @all_reduces mesh ["dp"] sizes [2] {
  %a = exec.buffer "a" gradient f32 4 bytes
  %b = exec.buffer "b" gradient f32 128 bytes
  exec.task @step {
    exec.zero %a
    exec.zero %b
    exec.collective all_reduce sum %a to %a axes [0] count 1 "grad a" gradient async
    exec.collective all_reduce sum %b to %b axes [0] count 32 "grad b" gradient async
  }
}

// A copy that packs a gradient packs it into the bucket.
// CHECK-LABEL: exec.program @reduce_scatters
// CHECK:         exec.copy %a to %[[ALL:.*]] sizes [2, 16] from [16, 1] at <0> into [32, 1] at <0>
// CHECK:         exec.copy %b to %[[ALL]] sizes [2, 4, 4] from [4, 8, 1] at <0> into [32, 4, 1] at <16>
// CHECK:         exec.collective reduce_scatter sum %[[ALL]] to %{{.*}} axes [0] count 32 "grad a +1" gradient async stream 1
exec.program @reduce_scatters mesh ["dp"] sizes [2] {
  %a = exec.buffer "a" gradient f32 128 bytes
  %b = exec.buffer "b" gradient f32 128 bytes
  %pack = exec.buffer "pack" communication f32 128 bytes
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    exec.zero %a
    exec.zero %b
    exec.collective reduce_scatter sum %a to %x axes [0] count 16 "grad a" gradient async
    exec.copy %b to %pack sizes [2, 4, 4] from [4, 8, 1] at <0> into [16, 4, 1] at <0>
    exec.collective reduce_scatter sum %pack to %y axes [0] count 16 "grad b" gradient async
  }
}

// Where groups of ranks shard, what they scatter is one, and what is reduced over groups; the first goes to where the second reads it.
// CHECK-LABEL: exec.program @groups
// CHECK:         %[[SUMS:.*]] = exec.buffer "gradients.0" gradient f32 128 bytes
// CHECK:         %[[VIEW:.*]] = exec.view %[[SUMS]] "scattered_sums" f32 128 bytes at 0
// CHECK:         exec.collective reduce_scatter sum %{{.*}} to %[[VIEW]] axes [1] count 32 "grad a +1" gradient async stream 1
// CHECK-NEXT:    exec.collective all_reduce sum %[[SUMS]] to %[[SUMS]] axes [0] count 32 "grad a +1" gradient async stream 1
// CHECK:         exec.copy
// CHECK-NOT:     exec.collective
exec.program @groups mesh ["dp.groups", "dp.shards"] sizes [2, 2] {
  %p = exec.buffer "p" parameter f32 128 bytes persistent
  %pack_a = exec.buffer "pack_a" communication f32 128 bytes
  %pack_b = exec.buffer "pack_b" communication f32 128 bytes
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    exec.zero %pack_a
    exec.collective reduce_scatter sum %pack_a to %x axes [1] count 16 "grad a" gradient async
    exec.collective all_reduce sum %x to %x axes [0] count 16 "grad a" gradient async
    exec.zero %pack_b
    exec.collective reduce_scatter sum %pack_b to %y axes [1] count 16 "grad b" gradient async
    exec.collective all_reduce sum %y to %y axes [0] count 16 "grad b" gradient async
    exec.copy %x to %p sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %y to %p sizes [16] from [1] at <0> into [1] at <16>
  }
}

// Sums over two axes, one after the other, are one sum over both.
// CHECK-LABEL: exec.program @joins
// CHECK:         exec.collective all_reduce sum %g to %g axes [0, 1] count 16 "grad g" gradient async stream 1
// CHECK-NOT:     exec.collective
exec.program @joins mesh ["dp", "tp"] sizes [2, 2] {
  %g = exec.buffer "g" gradient f32 64 bytes
  exec.task @step {
    exec.zero %g
    exec.collective all_reduce sum %g to %g axes [1] count 16 "grad g" gradient async
    exec.collective all_reduce sum %g to %g axes [0] count 16 "grad g" gradient async
  }
}

// What compute waits for stays where it is, on its stream, whatever buffer it is about.
// CHECK-LABEL: exec.program @waits
// CHECK:         exec.collective all_reduce sum %a to %a axes [0] count 16 "a" activation{{$}}
// CHECK-NEXT:    exec.collective all_reduce sum %b to %b axes [0] count 16 "b" control{{$}}
exec.program @waits mesh ["dp"] sizes [2] {
  %a = exec.buffer "a" gradient f32 64 bytes
  %b = exec.buffer "b" gradient f32 64 bytes
  exec.task @step {
    exec.zero %a
    exec.zero %b
    exec.collective all_reduce sum %a to %a axes [0] count 16 "a" activation
    exec.collective all_reduce sum %b to %b axes [0] count 16 "b" control
  }
}

// Parameters that are gathered for one use travel together and get their name; who uses one waits for the gather.
// CHECK-LABEL: exec.program @gathers
// CHECK:         exec.collective all_gather sum %{{.*}} to %[[ALL:.*]] axes [0] count 32 "w +1" parameter async stream 1
// CHECK:         exec.copy %[[ALL]] to %x sizes [2, 16] from [32, 1] at <0> into [16, 1] at <0>
// CHECK:         exec.copy %[[ALL]] to %y sizes [2, 16] from [32, 1] at <16> into [16, 1] at <0>
// CHECK:         exec.gemm %x, %y to %z
exec.program @gathers mesh ["dp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  %v = exec.buffer "v" parameter f32 64 bytes persistent
  %x = exec.buffer "x" temporary f32 128 bytes
  %y = exec.buffer "y" temporary f32 128 bytes
  %z = exec.buffer "z" temporary f32 64 bytes
  exec.task @step {
    exec.collective all_gather sum %w to %x axes [0] count 16 "a" parameter async
    exec.collective all_gather sum %v to %y axes [0] count 16 "b" parameter async
    exec.gemm %x, %y to %z sizes [4, 4, 8] strides [8, 4, 4]
  }
}

// Sums of two roles stay two: only one of them is what compute waits for.
// CHECK-LABEL: exec.program @two_roles
// CHECK:         exec.collective all_reduce sum %g to %g axes [1] count 16 "g" activation{{$}}
// CHECK:         exec.collective all_reduce sum %g to %g axes [0] count 16 "grad g" gradient async stream 1
exec.program @two_roles mesh ["dp", "tp"] sizes [2, 2] {
  %g = exec.buffer "g" gradient f32 64 bytes
  exec.task @step {
    exec.zero %g
    exec.collective all_reduce sum %g to %g axes [1] count 16 "g" activation
    exec.collective all_reduce sum %g to %g axes [0] count 16 "grad g" gradient async
  }
}

// What is gathered is not unpacked while the old value is still read: the copy stays where it is, on stream 0.
// CHECK-LABEL: exec.program @old_value
// CHECK:         exec.collective all_gather sum %mine to %all axes [0] count 16 "mine" parameter async stream 1
// CHECK:         exec.copy %w to %y
// CHECK:         exec.copy %all to %w sizes [2, 4, 4] from [16, 4, 1] at <0> into [4, 8, 1] at <0>{{$}}
exec.program @old_value mesh ["dp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 128 bytes persistent
  %mine = exec.buffer "mine" temporary f32 64 bytes
  %all = exec.buffer "all" communication f32 128 bytes
  %y = exec.buffer "y" output f32 128 bytes persistent
  exec.task @step {
    exec.zero %mine
    exec.collective all_gather sum %mine to %all axes [0] count 16 "mine" parameter async
    exec.copy %w to %y sizes [32] from [1] at <0> into [1] at <0>
    exec.copy %all to %w sizes [2, 4, 4] from [16, 4, 1] at <0> into [4, 8, 1] at <0>
  }
}

// A parameter that is used before the next one is gathered does not wait for that: two gathers, each unpacked in time.
// CHECK-LABEL: exec.program @used_between
// CHECK:         exec.collective all_gather sum %a to %all_a axes [0] count 16 {{.*}} stream 1
// CHECK:         exec.copy %all_a to %w {{.*}} stream 1
// CHECK:         exec.gemm %w, %w to %z
// CHECK:         exec.collective all_gather sum %b to %all_b axes [0] count 16 {{.*}} stream 1
exec.program @used_between mesh ["dp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 128 bytes persistent
  %v = exec.buffer "v" parameter f32 128 bytes persistent
  %a = exec.buffer "a" temporary f32 64 bytes
  %b = exec.buffer "b" temporary f32 64 bytes
  %all_a = exec.buffer "all_a" communication f32 128 bytes
  %all_b = exec.buffer "all_b" communication f32 128 bytes
  %z = exec.buffer "z" temporary f32 64 bytes
  exec.task @step {
    exec.zero %a
    exec.zero %b
    exec.collective all_gather sum %a to %all_a axes [0] count 16 "a" parameter async
    exec.copy %all_a to %w sizes [2, 4, 4] from [16, 4, 1] at <0> into [4, 8, 1] at <0>
    exec.gemm %w, %w to %z sizes [4, 4, 4] strides [4, 4, 4]
    exec.collective all_gather sum %b to %all_b axes [0] count 16 "b" parameter async
    exec.copy %all_b to %v sizes [2, 4, 4] from [16, 4, 1] at <0> into [4, 8, 1] at <0>
  }
}

// Sums over micro-batches are complete in the last one: there their reductions move, to right after the last addend. Of a
// bucket the gaps are zeroed there, too. What every micro-batch reduces is no part of it.
// CHECK-LABEL: exec.program @micro_batches
// CHECK:         %[[ALL:.*]] = exec.buffer "gradients.0" gradient f32 192 bytes carried
// CHECK:         exec.task @backward per_micro_batch {
// CHECK-NEXT:      exec.zero %x
// CHECK-NEXT:      exec.collective all_reduce sum %x to %x axes [0] count 32 "grad x" gradient async
// CHECK-NEXT:      exec.copy %x to %[[A:.*]] sizes [1] {{.*}} accumulate starts_sum
// CHECK-NEXT:      exec.copy %x to %[[B:.*]] sizes [32] {{.*}} accumulate starts_sum
// CHECK-NEXT:      exec.zero %gap last
// CHECK-NEXT:      exec.record 0 last
// CHECK-NEXT:      exec.wait 0 stream 1 last
// CHECK-NEXT:      exec.collective all_reduce sum %[[ALL]] to %[[ALL]] axes [0] count 48 "grad a +1" gradient async stream 1 last
// CHECK:         exec.task @update {
// CHECK-NEXT:      exec.wait
// CHECK-NEXT:      exec.copy %[[B]] to %p
exec.program @micro_batches mesh ["dp"] sizes [2] micro_batches 2 {
  %p = exec.buffer "p" parameter f32 128 bytes persistent
  %a = exec.buffer "a" gradient f32 4 bytes carried
  %b = exec.buffer "b" gradient f32 128 bytes carried
  %x = exec.buffer "x" temporary f32 128 bytes
  exec.task @backward per_micro_batch {
    exec.zero %x
    exec.collective all_reduce sum %x to %x axes [0] count 32 "grad x" gradient async
    exec.copy %x to %a sizes [1] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.copy %x to %b sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @update {
    exec.collective all_reduce sum %a to %a axes [0] count 1 "grad a" gradient async
    exec.collective all_reduce sum %b to %b axes [0] count 32 "grad b" gradient async
    exec.copy %b to %p sizes [32] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@backward 0, @backward 1, @update]
}

// A reduction stays in the task of the step where evaluation, which runs no backward, would else miss what it reads.
// CHECK-LABEL: exec.program @entries
// CHECK:         exec.task @update {
// CHECK-NEXT:      exec.wait 0 stream 1
// CHECK-NEXT:      exec.collective all_reduce sum %g to %g
exec.program @entries mesh ["dp"] sizes [2] micro_batches 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %g = exec.buffer "g" gradient f32 64 bytes carried
  exec.task @backward per_micro_batch {
    exec.copy %p to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @update {
    exec.collective all_reduce sum %g to %g axes [0] count 16 "grad g" gradient async
    exec.copy %g to %p sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@backward 0, @backward 1, @update]
  exec.entry evaluate order [@update]
}

// What every run reduces and what the last one does are never one.
// CHECK-LABEL: exec.program @repeated
// CHECK:         exec.collective all_reduce sum %g to %g axes [0] count 16 "grad g" gradient async stream 1 last
// CHECK:         exec.collective all_reduce sum %x to %x axes [0] count 16 "grad x" gradient async{{$}}
exec.program @repeated mesh ["dp"] sizes [2] micro_batches 2 {
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %x = exec.buffer "x" temporary f32 64 bytes
  %g = exec.buffer "g" gradient f32 64 bytes carried
  exec.task @backward per_micro_batch {
    exec.zero %x
    exec.copy %p to %g sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.collective all_reduce sum %x to %x axes [0] count 16 "grad x" gradient async
  }
  exec.task @update {
    exec.collective all_reduce sum %g to %g axes [0] count 16 "grad g" gradient async
    exec.copy %g to %p sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@backward 0, @backward 1, @update]
}

// What every micro-batch reduces travels with what the same execution of a block made, and its copies to the sums with it;
// one reduction is under way while the next is packed, and stream 0 waits for the last at the end of each run.
// CHECK-LABEL: exec.program @every_micro_batch
// CHECK:         exec.copy %g0 to %[[A:.*]] sizes [2, 16] from [16, 1] at <0> into [32, 1] at <0>
// CHECK:         exec.copy %g1 to %[[A]] sizes [2, 16] from [16, 1] at <0> into [32, 1] at <16>
// CHECK:         exec.collective reduce_scatter sum %[[A]] to %[[X:.*]] axes [0] count 32 "g0 +1" gradient async stream 1
// CHECK-NEXT:    exec.copy %{{.*}} to %sum0 {{.*}} accumulate starts_sum stream 1
// CHECK-NEXT:    exec.copy %{{.*}} to %sum1 {{.*}} accumulate starts_sum stream 1
// CHECK-NEXT:    exec.record [[FIRST:[0-9]+]] stream 1{{$}}
// CHECK:         exec.wait [[FIRST]]{{$}}
// CHECK:         exec.collective reduce_scatter sum %g2 to %x2 axes [0] count 16 "g2" gradient async stream 1
// CHECK-NEXT:    exec.copy %x2 to %sum2 {{.*}} accumulate starts_sum stream 1
// CHECK-NEXT:    exec.record [[LAST:[0-9]+]] stream 1{{$}}
// CHECK-NEXT:    exec.wait [[LAST]]{{$}}
// CHECK-NEXT:  }
// CHECK-NEXT:  exec.task @update
exec.program @every_micro_batch mesh ["dp"] sizes [2] micro_batches 2 {
  %g0 = exec.buffer "g0" temporary f32 128 bytes
  %g1 = exec.buffer "g1" temporary f32 128 bytes
  %g2 = exec.buffer "g2" temporary f32 128 bytes
  %x0 = exec.buffer "x0" temporary f32 64 bytes
  %x1 = exec.buffer "x1" temporary f32 64 bytes
  %x2 = exec.buffer "x2" temporary f32 64 bytes
  %sum0 = exec.buffer "sum0" gradient f32 64 bytes carried
  %sum1 = exec.buffer "sum1" gradient f32 64 bytes carried
  %sum2 = exec.buffer "sum2" gradient f32 64 bytes carried
  exec.task @backward per_micro_batch {
    exec.zero %g0
    exec.zero %g1
    exec.collective reduce_scatter sum %g0 to %x0 axes [0] count 16 "g0" gradient async {exec.execution = 1 : i64}
    exec.copy %x0 to %sum0 sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.collective reduce_scatter sum %g1 to %x1 axes [0] count 16 "g1" gradient async {exec.execution = 1 : i64}
    exec.copy %x1 to %sum1 sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.zero %g2
    exec.collective reduce_scatter sum %g2 to %x2 axes [0] count 16 "g2" gradient async {exec.execution = 0 : i64}
    exec.copy %x2 to %sum2 sizes [16] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @update {
    exec.zero %g0
  }
}

// A stage with two chunks, whose micro-batches mix: what a chunk reduces, first within groups and then between them, is in
// buckets of the chunk, though those of the next one would have room. So none of it has slots, which the update could not read.
// CHECK-LABEL: exec.program @chunks
// CHECK-DAG:     %[[SECOND:.*]] = exec.buffer "gradients.0" gradient f32 128 bytes{{$}}
// CHECK-DAG:     %[[FIRST:.*]] = exec.buffer "gradients.1" gradient f32 128 bytes{{$}}
// CHECK:         exec.task @backward.1 per_micro_batch {
// CHECK:           exec.collective reduce_scatter sum %{{.*}} to %{{.*}} axes [1] count 32 "grad a +1" gradient async stream 1 last
// CHECK-NEXT:      exec.collective all_reduce sum %[[SECOND]] to %[[SECOND]] axes [0] count 32 "grad a +1" gradient async stream 1 last
// CHECK:         exec.task @backward.0 per_micro_batch {
// CHECK:           exec.collective reduce_scatter sum %{{.*}} to %{{.*}} axes [1] count 32 "grad c +1" gradient async stream 1 last
// CHECK-NEXT:      exec.collective all_reduce sum %[[FIRST]] to %[[FIRST]] axes [0] count 32 "grad c +1" gradient async stream 1 last
// CHECK:         exec.task @update {
// CHECK-NOT:       exec.collective
exec.program @chunks mesh ["dp.group", "dp"] sizes [2, 2] micro_batches 2 {
  %p = exec.buffer "p" parameter f32 128 bytes persistent
  %q = exec.buffer "q" parameter f32 64 bytes persistent
  %a = exec.buffer "a" gradient f32 128 bytes carried
  %b = exec.buffer "b" gradient f32 128 bytes carried
  %c = exec.buffer "c" gradient f32 128 bytes carried
  %d = exec.buffer "d" gradient f32 128 bytes carried
  %a0 = exec.buffer "a0" temporary f32 64 bytes
  %b0 = exec.buffer "b0" temporary f32 64 bytes
  %c0 = exec.buffer "c0" temporary f32 64 bytes
  %d0 = exec.buffer "d0" temporary f32 64 bytes
  exec.task @backward.1 per_micro_batch {
    exec.copy %p to %a sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.copy %p to %b sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @backward.0 per_micro_batch {
    exec.copy %p to %c sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.copy %p to %d sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @update {
    exec.collective reduce_scatter sum %a to %a0 axes [1] count 16 "grad a" gradient async
    exec.collective all_reduce sum %a0 to %a0 axes [0] count 16 "grad a" gradient async
    exec.collective reduce_scatter sum %b to %b0 axes [1] count 16 "grad b" gradient async
    exec.collective all_reduce sum %b0 to %b0 axes [0] count 16 "grad b" gradient async
    exec.collective reduce_scatter sum %c to %c0 axes [1] count 16 "grad c" gradient async
    exec.collective all_reduce sum %c0 to %c0 axes [0] count 16 "grad c" gradient async
    exec.collective reduce_scatter sum %d to %d0 axes [1] count 16 "grad d" gradient async
    exec.collective all_reduce sum %d0 to %d0 axes [0] count 16 "grad d" gradient async
    exec.copy %a0 to %q sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %b0 to %q sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %c0 to %q sizes [16] from [1] at <0> into [1] at <0>
    exec.copy %d0 to %q sizes [16] from [1] at <0> into [1] at <0>
  }
  exec.entry train order [@backward.1 0, @backward.1 1, @backward.0 0, @backward.0 1, @update]
}

// What is reduced in 16 bits is rounded where its gradient is complete, in the last micro-batch, and travels as one; it is widened where
// it is read.
// CHECK-LABEL: exec.program @rounded
// CHECK:         %[[ALL:.*]] = exec.buffer "gradients.0" gradient bf16 128 bytes
// CHECK:         exec.task @backward per_micro_batch {
// CHECK-NEXT:      exec.copy %p to %a {{.*}} accumulate starts_sum
// CHECK-NEXT:      exec.launch @round(%a) to(%[[A:.*]]) range 1 last
// CHECK-NEXT:      exec.copy %p to %b {{.*}} accumulate starts_sum
// CHECK-NEXT:      exec.launch @round(%b) to(%[[B:.*]]) range 1 last
// CHECK:           exec.collective all_reduce sum %[[ALL]] to %[[ALL]] axes [0] count 64 "grad a +1" gradient async stream 1 last
// CHECK:         exec.task @update {
// CHECK-NEXT:      exec.wait
// CHECK-NEXT:      exec.launch @widen(%[[A]]) to(%p) range 1
exec.program @rounded mesh ["dp"] sizes [2] micro_batches 2 {
  exec.kernel @round buffers [128, 64] scalars 0
  exec.kernel @widen buffers [64, 128] scalars 0
  %p = exec.buffer "p" parameter f32 128 bytes persistent
  %a = exec.buffer "a" gradient f32 128 bytes carried
  %b = exec.buffer "b" gradient f32 128 bytes carried
  %na = exec.buffer "na" temporary bf16 64 bytes
  %nb = exec.buffer "nb" temporary bf16 64 bytes
  exec.task @backward per_micro_batch {
    exec.copy %p to %a sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.copy %p to %b sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @update {
    exec.launch @round(%a) to (%na) range 1
    exec.collective all_reduce sum %na to %na axes [0] count 32 "grad a" gradient async
    exec.launch @widen(%na) to (%p) range 1
    exec.launch @round(%b) to (%nb) range 1
    exec.collective all_reduce sum %nb to %nb axes [0] count 32 "grad b" gradient async
    exec.launch @widen(%nb) to (%p) range 1
  }
  exec.entry train order [@backward 0, @backward 1, @update]
}

// In every micro-batch: what one execution of a block has made is reduced together, then widened and added up.
// CHECK-LABEL: exec.program @widened
// CHECK:         exec.collective reduce_scatter sum %{{.*}} to %{{.*}} axes [0] count 64 "x +1" gradient async stream 1
// CHECK:         exec.launch @widen({{.*}}) to(%w) range 1
// CHECK-NEXT:    exec.copy %w to %a {{.*}} accumulate starts_sum
// CHECK-NEXT:    exec.launch @widen({{.*}}) to(%v) range 1
// CHECK-NEXT:    exec.copy %v to %b {{.*}} accumulate starts_sum
exec.program @widened mesh ["dp"] sizes [2] micro_batches 2 {
  exec.kernel @widen buffers [64, 128] scalars 0
  %a = exec.buffer "a" gradient f32 128 bytes carried
  %b = exec.buffer "b" gradient f32 128 bytes carried
  %x = exec.buffer "x" temporary bf16 128 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  %nx = exec.buffer "nx" temporary bf16 64 bytes
  %ny = exec.buffer "ny" temporary bf16 64 bytes
  %w = exec.buffer "w" temporary f32 128 bytes
  %v = exec.buffer "v" temporary f32 128 bytes
  exec.task @backward per_micro_batch {
    exec.zero %x
    exec.zero %y
    exec.collective reduce_scatter sum %x to %nx axes [0] count 32 "x" gradient async {exec.execution = 1 : i64}
    exec.launch @widen(%nx) to (%w) range 1
    exec.copy %w to %a sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
    exec.collective reduce_scatter sum %y to %ny axes [0] count 32 "y" gradient async {exec.execution = 1 : i64}
    exec.launch @widen(%ny) to (%v) range 1
    exec.copy %v to %b sizes [32] from [1] at <0> into [1] at <0> accumulate starts_sum
  }
  exec.task @update {
    exec.zero %x
  }
  exec.entry train order [@backward 0, @backward 1, @update]
}
