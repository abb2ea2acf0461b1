// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-roll-layers{min-saved=2},dtc-verify-exec))' | FileCheck %s

// Forward goes up through memory, backward down; what is used in all layers stays what it is.
// CHECK-LABEL: exec.program @layers
exec.program @layers mesh ["dp"] sizes [1] arena 1024 bytes {
  %w = exec.buffer "w" parameter f32 64 bytes persistent at 0
  %x_0 = exec.buffer "x.0" activation f32 64 bytes at 128
  %x_1 = exec.buffer "x.1" activation f32 64 bytes at 256
  %x_2 = exec.buffer "x.2" activation f32 64 bytes at 384
  %t_0 = exec.buffer "t.0" temporary f32 64 bytes at 512
  %t_1 = exec.buffer "t.1" temporary f32 64 bytes at 512
  %t_2 = exec.buffer "t.2" temporary f32 64 bytes at 512
  %u_0 = exec.buffer "u.0" temporary f32 64 bytes at 576
  %u_1 = exec.buffer "u.1" temporary f32 64 bytes at 640
  %u_2 = exec.buffer "u.2" temporary f32 64 bytes at 704
  // CHECK: %[[X:.*]] = exec.per_layer[%x.0, %x.1, %x.2] "x.0 x3"
  // CHECK: %[[T:.*]] = exec.per_layer[%t.0, %t.1, %t.2] "t.0 x3"
  // CHECK: %[[BACK:.*]] = exec.per_layer[%x.2, %x.1, %x.0] "x.2 x3"
  // CHECK: exec.task @forward {
  exec.task @forward {
    // CHECK-NEXT: exec.repeat 3 {
    // CHECK-NEXT:   exec.zero %[[X]]
    // CHECK-NEXT:   exec.gemm %w, %[[X]] to %[[T]]
    // CHECK-NEXT: }
    // CHECK-NEXT: }
    exec.zero %x_0
    exec.gemm %w, %x_0 to %t_0 sizes [4, 4, 4] strides [4, 4, 4]
    exec.zero %x_1
    exec.gemm %w, %x_1 to %t_1 sizes [4, 4, 4] strides [4, 4, 4]
    exec.zero %x_2
    exec.gemm %w, %x_2 to %t_2 sizes [4, 4, 4] strides [4, 4, 4]
  }
  // CHECK: exec.task @backward {
  exec.task @backward {
    // CHECK-NEXT: exec.repeat 3 {
    // CHECK-NEXT:   exec.gemm %[[BACK]], %w to
    // CHECK-NEXT: }
    exec.gemm %x_2, %w to %u_2 sizes [4, 4, 4] strides [4, 4, 4]
    exec.gemm %x_1, %w to %u_1 sizes [4, 4, 4] strides [4, 4, 4]
    exec.gemm %x_0, %w to %u_0 sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// Scalars, among them the stream of random numbers, have strides.
// CHECK-LABEL: exec.program @scalars
exec.program @scalars mesh ["dp"] sizes [2] micro_batches 2 arena 512 bytes {
  exec.kernel @k buffers [64] scalars 2
  %x = exec.buffer "x" temporary f32 64 bytes at 0
  %y = exec.buffer "y" temporary f32 256 bytes at 64
  exec.task @t {
    // CHECK:      exec.repeat 3 {
    // CHECK-NEXT:   exec.launch @k() to(%x) range 4 scalars [#exec.rank_scalar<7 - 2 * layer>, #exec.rank_scalar<0 + 8 * axis 0 + 4 * micro_batch>]
    // CHECK-NEXT:   exec.copy %x to %y sizes [16] from [1] at <0> into [1] at <32 - 16 * layer>
    // CHECK-NEXT: }
    exec.launch @k() to (%x) range 4 scalars [#exec.rank_scalar<7>, #exec.rank_scalar<0 + 8 * axis 0 + 4 * micro_batch>]
    exec.copy %x to %y sizes [16] from [1] at <0> into [1] at <32>
    exec.launch @k() to (%x) range 4 scalars [#exec.rank_scalar<5>, #exec.rank_scalar<0 + 8 * axis 0 + 4 * micro_batch>]
    exec.copy %x to %y sizes [16] from [1] at <0> into [1] at <16>
    exec.launch @k() to (%x) range 4 scalars [#exec.rank_scalar<3>, #exec.rank_scalar<0 + 8 * axis 0 + 4 * micro_batch>]
    exec.copy %x to %y sizes [16] from [1] at <0> into [1] at <0>
  }
}

// Events, too; the wait behind the layers is not theirs.
// CHECK-LABEL: exec.program @events
exec.program @events mesh ["dp"] sizes [2] arena 256 bytes streams 2 events 7 {
  %x_0 = exec.buffer "x.0" gradient f32 64 bytes at 0
  %x_1 = exec.buffer "x.1" gradient f32 64 bytes at 64
  %x_2 = exec.buffer "x.2" gradient f32 64 bytes at 128
  exec.task @t {
    // CHECK:      exec.repeat 3 {
    // CHECK-NEXT:   exec.zero
    // CHECK-NEXT:   exec.record 0 + 2 * layer
    // CHECK-NEXT:   exec.wait 0 + 2 * layer stream 1
    // CHECK-NEXT:   exec.collective all_reduce sum %{{.*}} axes [0] count 16 "x.0" gradient async stream 1
    // CHECK-NEXT:   exec.record 1 + 2 * layer stream 1
    // CHECK-NEXT: }
    // CHECK-NEXT: exec.wait 5
    exec.zero %x_0
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_reduce sum %x_0 to %x_0 axes [0] count 16 "x.0" gradient async stream 1
    exec.record 1 stream 1
    exec.zero %x_1
    exec.record 2
    exec.wait 2 stream 1
    exec.collective all_reduce sum %x_1 to %x_1 axes [0] count 16 "x.1" gradient async stream 1
    exec.record 3 stream 1
    exec.zero %x_2
    exec.record 4
    exec.wait 4 stream 1
    exec.collective all_reduce sum %x_2 to %x_2 axes [0] count 16 "x.2" gradient async stream 1
    exec.record 5 stream 1
    exec.wait 5
  }
}

// The third is not as far behind the second as that behind the first, the fourth has other sizes; what would save too
// little stays.
// CHECK-LABEL: exec.program @unlike
// CHECK-NOT:     exec.repeat
exec.program @unlike mesh ["dp"] sizes [1] arena 1024 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  %c = exec.buffer "c" temporary f32 64 bytes at 192
  %d = exec.buffer "d" temporary f32 128 bytes at 256
  %e = exec.buffer "e" gradient f32 64 bytes at 384
  exec.task @t {
    exec.zero %a
    exec.zero %b
    exec.zero %c
    exec.zero %d
    exec.zero %e
  }
}

// An address of the host's memory is not one of the device's.
// CHECK-LABEL: exec.program @memories
exec.program @memories mesh ["dp"] sizes [1] arena 192 bytes host 64 bytes {
  %host = exec.buffer "host" temporary f32 64 bytes space host at 0
  %x_1 = exec.buffer "x.1" temporary f32 64 bytes at 64
  %x_2 = exec.buffer "x.2" temporary f32 64 bytes at 128
  exec.task @t {
    // CHECK-NOT: exec.repeat
    // CHECK:     exec.zero %host
    // CHECK:     exec.zero %x.2
    exec.zero %host
    exec.zero %x_1
    exec.zero %x_2
  }
}
