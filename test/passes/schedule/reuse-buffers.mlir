// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-reuse-buffers))' | FileCheck %s

// A product whose result is only added to a sum does the adding.
// CHECK-LABEL: exec.program @adds
exec.program @adds mesh ["dp"] sizes [1] {
  %a = exec.buffer "a" parameter f32 64 bytes persistent
  %sum = exec.buffer "sum" gradient f32 64 bytes
  %t = exec.buffer "t" temporary f32 64 bytes
  exec.task @step {
    exec.zero %sum
    exec.gemm %a, %a to %t sizes [4, 4, 4] strides [4, 4, 4]
    // CHECK: exec.gemm %a, %a to %sum sizes [4, 4, 4] strides [4, 4, 4] beta 1.0
    // CHECK-NOT: exec.copy
    exec.copy %t to %sum sizes [16] from [1] at <0> into [1] at <0> accumulate
  }
}

// So do sums over groups of rows, but not products of rows.
// CHECK-LABEL: exec.program @adds_groups
exec.program @adds_groups mesh ["dp"] sizes [1] {
  %a = exec.buffer "a" parameter f32 64 bytes persistent
  %n = exec.buffer "n" parameter i32 4 bytes persistent
  %sum = exec.buffer "sum" gradient f32 64 bytes
  %t = exec.buffer "t" temporary f32 64 bytes
  %u = exec.buffer "u" temporary f32 64 bytes
  exec.task @step {
    exec.zero %sum
    exec.grouped_gemm %a, %a by %n to %t groups 1 samples 1 rows 4 k 4 n 4 sums_rows
    // CHECK: exec.grouped_gemm %a, %a by %n to %sum groups 1 samples 1 rows 4 k 4 n 4 sums_rows accumulate
    // CHECK-NOT: exec.copy
    exec.copy %t to %sum sizes [16] from [1] at <0> into [1] at <0> accumulate
    // CHECK: exec.grouped_gemm %a, %a by %n to %u
    exec.grouped_gemm %a, %a by %n to %u groups 1 samples 1 rows 4 k 4 n 4
    // CHECK: exec.copy %u to %sum
    exec.copy %u to %sum sizes [16] from [1] at <0> into [1] at <0> accumulate
  }
}

// A parameter is updated in place; its copy goes.
// CHECK-LABEL: exec.program @updates
exec.program @updates mesh ["dp"] sizes [1] {
  exec.kernel @k buffers [64, 64, 64] in_place [array<i64: 0, 0>]
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %g = exec.buffer "g" gradient f32 64 bytes
  %new = exec.buffer "new" temporary f32 64 bytes
  exec.task @step {
    exec.zero %g
    exec.launch @k(%p, %g) to (%new) range 1
    // CHECK: exec.launch @k(%p, %g) to(%p) range 1
    // CHECK-NOT: exec.copy
    exec.copy %new to %p sizes [16] from [1] at <0> into [1] at <0>
  }
}

// An all-reduce of a value that ends there happens in place.
// CHECK-LABEL: exec.program @reduces
exec.program @reduces mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    exec.zero %x
    // CHECK: exec.collective all_reduce sum %[[X:.*]] to %[[X]] axes [0]
    exec.collective all_reduce sum %x to %y axes [0] count 16 "x" activation
  }
}

// What goes from one memory to the other stays a copy.
// CHECK-LABEL: exec.program @moves
exec.program @moves mesh ["dp"] sizes [1] {
  %p = exec.buffer "p" parameter f32 64 bytes persistent
  %t = exec.buffer "t" temporary f32 64 bytes space host
  exec.task @step {
    // CHECK: exec.zero %t
    // CHECK: exec.copy %t to %p
    exec.zero %t
    exec.copy %t to %p sizes [16] from [1] at <0> into [1] at <0>
  }
}
