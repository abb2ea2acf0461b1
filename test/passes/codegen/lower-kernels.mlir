// RUN: dtc-opt %s --dtc-lower-kernels=to=buffers --split-input-file | FileCheck %s --check-prefix=BUFFERS
// RUN: dtc-opt %s --dtc-lower-kernels=to=vectors --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=VECTORS
// RUN: dtc-opt %s --dtc-lower-kernels --split-input-file | FileCheck %s --check-prefix=LLVM

// One linalg.generic over the merged loops: the outer two join, the bias repeats in them. A row of 100 is three vectors
// of 32 and one of 4. The runtime calls the entry with arrays of pointers and scalars.
// BUFFERS-LABEL: func.func @bias(
// BUFFERS-SAME:    %{{.*}}: memref<4000xf32>, %{{.*}}: memref<100xf32>, %{{.*}}: memref<4000xf32>, %{{.*}}: index, %{{.*}}: index)
// BUFFERS:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<40x100xf32>, memref<100xf32>) outs(%{{.*}} : memref<40x100xf32>)
// BUFFERS:           arith.addf
// VECTORS-LABEL: func.func @bias(
// VECTORS:         scf.for
// VECTORS:           scf.for
// VECTORS:             vector.load {{.*}}, vector<32xf32>
// VECTORS:             arith.addf {{.*}} : vector<32xf32>
// VECTORS:             vector.store {{.*}}, vector<32xf32>
// VECTORS:           arith.addf {{.*}} : vector<4xf32>
// LLVM-LABEL: llvm.func @bias(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// LLVM:         llvm.call @bias_body
// LLVM:       llvm.func internal @bias_body
// LLVM:         llvm.fadd {{.*}} : vector<32xf32>
graph.func private @bias(%x: tensor<8x5x100xf32>, %b: tensor<100xf32>) -> tensor<8x5x100xf32> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x5x100xf32>, tensor<100xf32>) -> tensor<8x5x100xf32>
  graph.return %0 : tensor<8x5x100xf32>
}

// -----

// What does not change along a row is computed once, before the loops; functions of vectors become polynomials.
// VECTORS-LABEL: func.func @scaled_exp(
// VECTORS:         %[[ROOT:.*]] = math.sqrt %{{.*}} : f32
// VECTORS:         scf.for
// VECTORS:           math.exp {{.*}} : vector<32xf32>
// LLVM-LABEL: llvm.func internal @scaled_exp_body
// LLVM-NOT:     llvm.intr.exp
// LLVM-NOT:     expf
// LLVM:         llvm.intr.fma
graph.func private @scaled_exp(%x: tensor<4096xf32>, %s: tensor<1xf32>) -> tensor<4096xf32> attributes {kernel} {
  %0 = graph.broadcast %s dims [0] : tensor<1xf32> -> tensor<4096xf32>
  %1 = graph.sqrt %0 : tensor<4096xf32>
  %2 = graph.exp %x : tensor<4096xf32>
  %3 = graph.multiply %2, %1 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  graph.return %3 : tensor<4096xf32>
}

// -----

// Sums of a row are kept in 32 lanes; the lanes past the row's end are masked.
// VECTORS-LABEL: func.func @softmax_grad(
// VECTORS:         scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>)
// VECTORS:         vector.constant_mask [8] : vector<32xi1>
// VECTORS:         vector.maskedload
// VECTORS:         vector.reduction <add>
graph.func private @softmax_grad(%y: tensor<4x200xf32>, %dy: tensor<4x200xf32>) -> tensor<4x200xf32> attributes {kernel} {
  %0 = graph.softmax_grad %y, %dy : tensor<4x200xf32>
  graph.return %0 : tensor<4x200xf32>
}

// -----

// A coordinate arrives as a scalar after the buffers.
// BUFFERS-LABEL: func.func @pick(
// BUFFERS-SAME:    %[[X:.*]]: memref<20xf32>, %[[T:.*]]: memref<4xi32>, %[[Y:.*]]: memref<4xf32>, %[[OFFSET:.*]]: index, %{{.*}}: index, %{{.*}}: index) attributes {dtc.num_scalars = 1 : i64}
// BUFFERS:         arith.subi %{{.*}}, %[[OFFSET]]
graph.func private @pick(%x: tensor<4x5xf32>, %t: tensor<4xi32>) -> tensor<4xf32>
    attributes {kernel, kernel_scalars = [#graph.window<loop = 1, local = 5, global = 9, axes = [1]>]} {
  %0 = graph.pick %x, %t {windows = [#graph.window<loop = 1, local = 5, global = 9, axes = [1]>]}
    : (tensor<4x5xf32>, tensor<4xi32>) -> tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}

// -----

// Random numbers are drawn in eight lanes, by one function that all kernels share and that is not put into them.
// VECTORS-LABEL: func.func @drop_rows(
// VECTORS:         scf.for
// VECTORS-COUNT-1:   call @random_words({{.*}}) : (vector<8xi64>, i32, i32, i64) -> vector<8xi32>
// VECTORS:         llvm.loop_annotation
// LLVM-LABEL: llvm.func internal @drop_rows_body
// LLVM-COUNT-1: llvm.call @random_words(
// LLVM-NOT:     llvm.call @random_words(
// LLVM:         llvm.br {{.*}}loop_annotation
// LLVM-LABEL: llvm.func internal @drop_sums_body
// LLVM:         llvm.call @random_words(
// LLVM:       llvm.func internal @random_words({{.*}}) -> vector<8xi32> attributes {{.*}}noinline
// LLVM-NOT:   llvm.func {{.*}}@random_word
graph.func private @drop_rows(%x: tensor<4x64xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<4x64xf32> attributes {kernel} {
  %0 = graph.dropout %x p 0.1 id 3 key(%seed, %step) : tensor<4x64xf32>
  graph.return %0 : tensor<4x64xf32>
}
graph.func private @drop_sums(%x: tensor<4x96xf32>, %y: tensor<4x96xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<4x96xf32> attributes {kernel} {
  %0 = graph.add %x, %y : (tensor<4x96xf32>, tensor<4x96xf32>) -> tensor<4x96xf32>
  %1 = graph.dropout %0 p 0.1 id 3 key(%seed, %step) : tensor<4x96xf32>
  graph.return %1 : tensor<4x96xf32>
}
