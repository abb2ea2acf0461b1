// RUN: dtc-opt %s -split-input-file -dtc-fuse-epilogues | FileCheck %s

// A bias is added by the product, which stands where the kernel stood. Nobody launches that any more.
// CHECK-NOT: @add_bias
graph.func private @add_bias(%x: tensor<2x4x2x8xbf16>, %b: tensor<2x8xbf16>) -> tensor<2x4x2x8xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<2x4x2x8xbf16>, tensor<2x8xbf16>) -> tensor<2x4x2x8xbf16>
  graph.return %0 : tensor<2x4x2x8xbf16>
}
// CHECK-LABEL: exec.program @bias
exec.program @bias mesh ["dp"] sizes [1] {
  exec.kernel @add_bias buffers [256, 32, 256]
  %x = exec.buffer "x" temporary bf16 128 bytes
  %w = exec.buffer "w" parameter bf16 256 bytes persistent
  %b = exec.buffer "b" parameter bf16 32 bytes persistent
  // CHECK-NOT: "t"
  %t = exec.buffer "t" temporary bf16 256 bytes
  %y = exec.buffer "y" temporary bf16 256 bytes
  %z = exec.buffer "z" temporary bf16 256 bytes
  exec.task @step {
    exec.gemm %x, %w to %t sizes [8, 16, 8] strides [8, 16, 16]
    // CHECK: exec.zero %z
    // CHECK-NEXT: exec.gemm %x, %w bias %b to %y sizes [8, 16, 8] strides [8, 16, 16]
    // CHECK-NOT: exec.launch
    exec.zero %z
    exec.launch @add_bias(%t, %b) to(%y) range 1
  }
}

// -----
// With what goes round the block: a whole matrix.
graph.func private @residual(%x: tensor<8x16xf16>, %b: tensor<16xf16>, %r: tensor<8x16xf16>) -> tensor<8x16xf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xf16>, tensor<16xf16>) -> tensor<8x16xf16>
  %1 = graph.add %r, %0 : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16>
  graph.return %1 : tensor<8x16xf16>
}
// CHECK-LABEL: exec.program @plus
exec.program @plus mesh ["dp"] sizes [1] {
  exec.kernel @residual buffers [256, 32, 256, 256]
  %x = exec.buffer "x" temporary f16 128 bytes
  %w = exec.buffer "w" parameter f16 256 bytes persistent
  %b = exec.buffer "b" parameter f16 32 bytes persistent
  %r = exec.buffer "r" temporary f16 256 bytes
  %t = exec.buffer "t" temporary f16 256 bytes
  %y = exec.buffer "y" temporary f16 256 bytes
  exec.task @step {
    // CHECK: exec.gemm %x, %w transposed plus %r bias %b to %y sizes [8, 16, 8] strides [8, 8, 16]
    exec.gemm %x, %w transposed to %t sizes [8, 16, 8] strides [8, 8, 16]
    exec.launch @residual(%t, %b, %r) to(%y) range 1
  }
}

// -----
// A matrix alone is added in any type and size: that is no epilogue, but the c of the product.
graph.func private @add(%x: tensor<3x5xf32>, %r: tensor<3x5xf32>) -> tensor<3x5xf32> attributes {kernel} {
  %0 = graph.add %x, %r : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  graph.return %0 : tensor<3x5xf32>
}
// CHECK-LABEL: exec.program @plus_f32
exec.program @plus_f32 mesh ["dp"] sizes [1] {
  exec.kernel @add buffers [60, 60, 60]
  %x = exec.buffer "x" temporary f32 12 bytes
  %w = exec.buffer "w" parameter f32 20 bytes persistent
  %r = exec.buffer "r" temporary f32 60 bytes
  %t = exec.buffer "t" temporary f32 60 bytes
  %y = exec.buffer "y" temporary f32 60 bytes
  exec.task @step {
    // CHECK: exec.gemm %x, %w plus %r to %y sizes [3, 5, 1] strides [1, 5, 5]
    exec.gemm %x, %w to %t sizes [3, 5, 1] strides [1, 5, 5]
    exec.launch @add(%t, %r) to(%y) range 1
  }
}

// -----
// GELU, and what it is of for the backward pass; without that where nobody keeps it; its derivative.
graph.func private @gelu_keeps(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.gelu tanh %0 : tensor<8x16xbf16>
  graph.return %0, %1 : tensor<8x16xbf16>, tensor<8x16xbf16>
}
graph.func private @gelu(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.gelu tanh %0 : tensor<8x16xbf16>
  graph.return %1 : tensor<8x16xbf16>
}
graph.func private @gelu_grad(%x: tensor<8x16xbf16>, %dy: tensor<8x16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.gelu_grad tanh %x, %dy : tensor<8x16xbf16>
  graph.return %0 : tensor<8x16xbf16>
}
// CHECK-LABEL: exec.program @gelus
exec.program @gelus mesh ["dp"] sizes [1] {
  exec.kernel @gelu_keeps buffers [256, 32, 256, 256]
  exec.kernel @gelu buffers [256, 32, 256]
  exec.kernel @gelu_grad buffers [256, 256, 256]
  %x = exec.buffer "x" temporary bf16 128 bytes
  %w = exec.buffer "w" parameter bf16 256 bytes persistent
  %b = exec.buffer "b" parameter bf16 32 bytes persistent
  %t = exec.buffer "t" temporary bf16 256 bytes
  %pre = exec.buffer "pre" temporary bf16 256 bytes
  %y = exec.buffer "y" temporary bf16 256 bytes
  %t2 = exec.buffer "t2" temporary bf16 256 bytes
  %y2 = exec.buffer "y2" temporary bf16 256 bytes
  %t3 = exec.buffer "t3" temporary bf16 256 bytes
  %d = exec.buffer "d" temporary bf16 256 bytes
  %dw = exec.buffer "dw" gradient f32 512 bytes
  exec.task @step {
    // CHECK: exec.gemm %x, %w bias %b gelu to %y keeps %pre sizes [8, 16, 8] strides [8, 16, 16]
    exec.gemm %x, %w to %t sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @gelu_keeps(%t, %b) to(%pre, %y) range 1
    // CHECK-NEXT: exec.gemm %x, %w bias %b gelu to %y2 sizes [8, 16, 8] strides [8, 16, 16]
    exec.gemm %x, %w to %t2 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @gelu(%t2, %b) to(%y2) range 1
    // CHECK-NEXT: exec.gemm %x transposed, %y
    // CHECK-NEXT: exec.gemm %x, %w gelu_grad %pre to %d sizes [8, 16, 8] strides [8, 16, 16]
    exec.gemm %x, %w to %t3 sizes [8, 16, 8] strides [8, 16, 16]
    exec.gemm %x transposed, %y to %dw sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @gelu_grad(%pre, %t3) to(%d) range 1
  }
}

// -----
// What stays: GELU by erf; what is not of the bias alone; a kernel that makes more; a product that two read.
graph.func private @erf(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.gelu erf %0 : tensor<8x16xbf16>
  graph.return %1 : tensor<8x16xbf16>
}
graph.func private @erf_grad(%x: tensor<8x16xbf16>, %dy: tensor<8x16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.gelu_grad erf %x, %dy : tensor<8x16xbf16>
  graph.return %0 : tensor<8x16xbf16>
}
graph.func private @grad_at_product(%dy: tensor<8x16xbf16>, %x: tensor<8x16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.gelu_grad tanh %x, %dy : tensor<8x16xbf16>
  graph.return %0 : tensor<8x16xbf16>
}
graph.func private @relu(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.relu %0 : tensor<8x16xbf16>
  graph.return %1 : tensor<8x16xbf16>
}
graph.func private @also(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.scale %0 by 2.0 : tensor<8x16xbf16>
  graph.return %0, %1 : tensor<8x16xbf16>, tensor<8x16xbf16>
}
graph.func private @columns(%x: tensor<8x16xbf16>, %b: tensor<8x1xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<8x1xbf16>) -> tensor<8x16xbf16>
  graph.return %0 : tensor<8x16xbf16>
}
graph.func private @bias(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  graph.return %0 : tensor<8x16xbf16>
}
// CHECK-LABEL: exec.program @stays
exec.program @stays mesh ["dp"] sizes [2] {
  exec.kernel @erf buffers [256, 32, 256]
  exec.kernel @erf_grad buffers [256, 256, 256]
  exec.kernel @grad_at_product buffers [256, 256, 256]
  exec.kernel @relu buffers [256, 32, 256]
  exec.kernel @also buffers [256, 32, 256, 256]
  exec.kernel @columns buffers [256, 16, 256]
  exec.kernel @bias buffers [256, 32, 256]
  %x = exec.buffer "x" temporary bf16 128 bytes
  %w = exec.buffer "w" parameter bf16 256 bytes persistent
  %b = exec.buffer "b" parameter bf16 32 bytes persistent
  %gathered = exec.buffer "gathered" temporary bf16 32 bytes
  %column = exec.buffer "column" parameter bf16 16 bytes persistent
  %t0 = exec.buffer "t0" temporary bf16 256 bytes
  %t1 = exec.buffer "t1" temporary bf16 256 bytes
  %t2 = exec.buffer "t2" temporary bf16 256 bytes
  %t3 = exec.buffer "t3" temporary bf16 256 bytes
  %t4 = exec.buffer "t4" temporary bf16 256 bytes
  %t5 = exec.buffer "t5" temporary bf16 256 bytes
  %t6 = exec.buffer "t6" temporary bf16 256 bytes
  %t7 = exec.buffer "t7" temporary bf16 256 bytes
  %t8 = exec.buffer "t8" temporary bf16 256 bytes
  %t9 = exec.buffer "t9" temporary bf16 256 bytes
  %t10 = exec.buffer "t10" temporary bf16 256 bytes
  %y = exec.buffer "y" temporary bf16 256 bytes
  %z = exec.buffer "z" temporary bf16 256 bytes
  exec.task @step {
    // CHECK: exec.launch @erf(
    exec.gemm %x, %w to %t0 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @erf(%t0, %b) to(%y) range 1
    // CHECK: exec.launch @erf_grad(
    exec.gemm %x, %w to %t1 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @erf_grad(%z, %t1) to(%y) range 1
    // CHECK: exec.launch @grad_at_product(
    exec.gemm %x, %w to %t2 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @grad_at_product(%z, %t2) to(%y) range 1
    // CHECK: exec.launch @relu(
    exec.gemm %x, %w to %t3 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @relu(%t3, %b) to(%y) range 1
    // CHECK: exec.launch @also(
    exec.gemm %x, %w to %t4 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @also(%t4, %b) to(%y, %z) range 1
    // CHECK: exec.launch @columns(
    exec.gemm %x, %w to %t5 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @columns(%t5, %column) to(%y) range 1
    // Two read it.
    // CHECK: exec.launch @bias(%t6,
    // CHECK: exec.launch @bias(%t6,
    exec.gemm %x, %w to %t6 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @bias(%t6, %b) to(%y) range 1
    exec.launch @bias(%t6, %b) to(%z) range 1
    // A sum of ranks.
    // CHECK: exec.launch @bias(%t7,
    exec.gemm %x, %w to %t7 sizes [8, 16, 8] strides [8, 16, 16]
    exec.collective all_reduce sum %t7 to %t7 axes [0] count 128 "t7" activation
    exec.launch @bias(%t7, %b) to(%y) range 1
    // A part of a sum, of which the result is one, too.
    // CHECK: exec.launch @bias(%t8,
    exec.gemm %x, %w to %t8 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @bias(%t8, %b) to(%y) range 1 shares [1]
    // A bias that is not where parameters lie.
    // CHECK: exec.launch @bias(%t9, %gathered)
    exec.gemm %x, %w to %t9 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @bias(%t9, %gathered) to(%y) range 1
    // What the product reads is something else where the launch stands.
    // CHECK: exec.launch @bias(%t10,
    exec.gemm %x, %w to %t10 sizes [8, 16, 8] strides [8, 16, 16]
    exec.zero %x
    exec.launch @bias(%t10, %b) to(%y) range 1
  }
}

// -----
// Rows of 12 elements have no 16 bytes of their own; f32 is not asked for; a sum has begun elsewhere.
graph.func private @bias12(%x: tensor<8x12xbf16>, %b: tensor<12xbf16>) -> tensor<8x12xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x12xbf16>, tensor<12xbf16>) -> tensor<8x12xbf16>
  graph.return %0 : tensor<8x12xbf16>
}
graph.func private @bias_f32(%x: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<8x16xf32> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  graph.return %0 : tensor<8x16xf32>
}
// CHECK-LABEL: exec.program @unlike
exec.program @unlike mesh ["dp"] sizes [1] {
  exec.kernel @bias12 buffers [192, 24, 192]
  exec.kernel @bias_f32 buffers [512, 64, 512]
  %x = exec.buffer "x" temporary bf16 128 bytes
  %w = exec.buffer "w" parameter bf16 192 bytes persistent
  %b = exec.buffer "b" parameter bf16 24 bytes persistent
  %t = exec.buffer "t" temporary bf16 192 bytes
  %y = exec.buffer "y" temporary bf16 192 bytes
  %x32 = exec.buffer "x32" temporary f32 256 bytes
  %w32 = exec.buffer "w32" parameter f32 512 bytes persistent
  %b32 = exec.buffer "b32" parameter f32 64 bytes persistent
  %t32 = exec.buffer "t32" temporary f32 512 bytes
  %y32 = exec.buffer "y32" temporary f32 512 bytes
  %kept = exec.buffer "kept" parameter f32 512 bytes persistent
  exec.task @step {
    // CHECK: exec.launch @bias12(
    exec.gemm %x, %w to %t sizes [8, 12, 8] strides [8, 12, 12]
    exec.launch @bias12(%t, %b) to(%y) range 1
    // CHECK: exec.launch @bias_f32(
    exec.gemm %x32, %w32 to %t32 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @bias_f32(%t32, %b32) to(%y32) range 1
    // CHECK: exec.gemm %x32, %w32 to %kept
    exec.gemm %x32, %w32 to %kept sizes [8, 16, 8] strides [8, 16, 16] beta 1.0
    exec.launch @bias_f32(%kept, %b32) to(%y32) range 1
  }
}

// -----
// Several products; a launch that runs when the product does not; rows of A that no vector begins; what is written where the product reads.
graph.func private @bias(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  graph.return %0 : tensor<8x16xbf16>
}
// CHECK-LABEL: exec.program @elsewhere
exec.program @elsewhere mesh ["dp"] sizes [1] {
  exec.kernel @bias buffers [256, 32, 256]
  %x = exec.buffer "x" temporary bf16 128 bytes
  %wide = exec.buffer "wide" temporary bf16 192 bytes
  %square = exec.buffer "square" temporary bf16 256 bytes
  %w = exec.buffer "w" parameter bf16 512 bytes persistent
  %b = exec.buffer "b" parameter bf16 32 bytes persistent
  %t0 = exec.buffer "t0" temporary bf16 256 bytes
  %t1 = exec.buffer "t1" temporary bf16 256 bytes
  %t2 = exec.buffer "t2" temporary bf16 256 bytes
  %t3 = exec.buffer "t3" temporary bf16 256 bytes
  %y = exec.buffer "y" temporary bf16 256 bytes
  exec.task @step {
    // CHECK: exec.launch @bias(%t0,
    exec.gemm %x, %w to %t0 sizes [4, 16, 8] strides [8, 16, 16] batch 2 batch_strides [32, 0, 64]
    exec.launch @bias(%t0, %b) to(%y) range 1
    // CHECK: exec.launch @bias(%t1,
    exec.gemm %x, %w to %t1 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @bias(%t1, %b) to(%y) range 1 last
    // CHECK: exec.launch @bias(%t2,
    exec.gemm %wide, %w to %t2 sizes [8, 16, 8] strides [12, 16, 16]
    exec.launch @bias(%t2, %b) to(%y) range 1
    // CHECK: exec.launch @bias(%t3,
    exec.gemm %square, %w to %t3 sizes [8, 16, 16] strides [16, 16, 16]
    exec.launch @bias(%t3, %b) to(%square) range 1
  }
}

// -----
// GELU of what else is added; two rows; a row along another dim.
graph.func private @gelu_of_sum(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>, %r: tensor<8x16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.add %0, %r : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %2 = graph.gelu tanh %1 : tensor<8x16xbf16>
  graph.return %2 : tensor<8x16xbf16>
}
graph.func private @two_rows(%x: tensor<8x16xbf16>, %b: tensor<16xbf16>, %c: tensor<16xbf16>) -> tensor<8x16xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  %1 = graph.add %0, %c : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
  graph.return %1 : tensor<8x16xbf16>
}
graph.func private @along_rows(%x: tensor<1x16x8xbf16>, %b: tensor<16x1xbf16>) -> tensor<1x16x8xbf16> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<1x16x8xbf16>, tensor<16x1xbf16>) -> tensor<1x16x8xbf16>
  graph.return %0 : tensor<1x16x8xbf16>
}
// CHECK-LABEL: exec.program @sums
exec.program @sums mesh ["dp"] sizes [1] {
  exec.kernel @gelu_of_sum buffers [256, 32, 256, 256]
  exec.kernel @two_rows buffers [256, 32, 32, 256]
  exec.kernel @along_rows buffers [256, 32, 256]
  %x = exec.buffer "x" temporary bf16 128 bytes
  %w = exec.buffer "w" parameter bf16 256 bytes persistent
  %b = exec.buffer "b" parameter bf16 32 bytes persistent
  %c = exec.buffer "c" parameter bf16 32 bytes persistent
  %r = exec.buffer "r" temporary bf16 256 bytes
  %t0 = exec.buffer "t0" temporary bf16 256 bytes
  %t1 = exec.buffer "t1" temporary bf16 256 bytes
  %t2 = exec.buffer "t2" temporary bf16 256 bytes
  %y = exec.buffer "y" temporary bf16 256 bytes
  exec.task @step {
    // CHECK: exec.launch @gelu_of_sum(
    exec.gemm %x, %w to %t0 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @gelu_of_sum(%t0, %b, %r) to(%y) range 1
    // CHECK: exec.launch @two_rows(
    exec.gemm %x, %w to %t1 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @two_rows(%t1, %b, %c) to(%y) range 1
    // CHECK: exec.launch @along_rows(
    exec.gemm %x, %w to %t2 sizes [8, 16, 8] strides [8, 16, 16]
    exec.launch @along_rows(%t2, %b) to(%y) range 1
  }
}
