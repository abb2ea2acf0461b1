// RUN: dtc-opt %s --dtc-lower-kernels="target=sm_90 to=vectors" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=VECTORS
// RUN: dtc-opt %s --dtc-lower-kernels="target=sm_90" --split-input-file | FileCheck %s --check-prefix=LLVM
// RUN: dtc-opt %s --dtc-lower-kernels="target=sm_80 to=ptx" --split-input-file -o %t | FileCheck %s --check-prefix=PTX
// RUN: dtc-opt %s --dtc-lower-kernels="target=sm_90 to=ptx" --split-input-file -o %t | FileCheck %s --check-prefix=PTX
// RUN: dtc-opt %s --dtc-lower-kernels="target=sm_100 to=ptx" --split-input-file -o %t | FileCheck %s --check-prefix=PTX

// A block does the unit of its number, if there is one, each thread four elements; where buffers are not aligned, element by element.
// VECTORS-LABEL: func.func @bias(
// VECTORS-SAME:    %[[X:[^:]*]]: memref<5120xf32>, %{{.*}}: memref<128xf32>, %{{.*}}: memref<5120xf32>, %[[RANGE:[^:]*]]: index)
// VECTORS:         %[[UNIT:.*]] = arith.cmpi ult, %{{.*}}, %[[RANGE]]
// VECTORS:         scf.if %[[UNIT]]
// VECTORS:           memref.extract_aligned_pointer_as_index %[[X]]
// VECTORS:           scf.if
// VECTORS:             vector.load {{.*}} {alignment = 16 : i64} : memref<5120xf32>, vector<4xf32>
// VECTORS:             vector.store {{.*}} {alignment = 16 : i64}
// VECTORS:           else
// VECTORS:             vector.load {{.*}} vector<1xf32>
// LLVM-LABEL: llvm.func @bias(
// LLVM-SAME:    !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64)
// LLVM-SAME:    nvvm.kernel, nvvm.reqntid = array<i32: 256>
// PTX-LABEL:  .entry bias(
// PTX:          .reqntid 256
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          st.global.{{v4|v2.b64}}
graph.func private @bias(%x: tensor<8x5x128xf32>, %b: tensor<128xf32>) -> tensor<8x5x128xf32> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x5x128xf32>, tensor<128xf32>) -> tensor<8x5x128xf32>
  graph.return %0 : tensor<8x5x128xf32>
}

// -----

// Eight elements of 16 bits make 16 bytes. What one long row has more than whole vectors is done one by one.
// VECTORS-LABEL: func.func @odd(
// VECTORS:         vector.load {{.*}} vector<8xbf16>
// VECTORS:         vector.load {{.*}} vector<1xbf16>
// PTX-LABEL:  .entry odd(
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          st.global.{{v4|v2.b64}}
graph.func private @odd(%x: tensor<4099xbf16>) -> tensor<4099xbf16> attributes {kernel} {
  %0 = graph.gelu tanh %x : tensor<4099xbf16>
  graph.return %0 : tensor<4099xbf16>
}

// -----

// Rows that are no whole vectors are read element by element, and nothing asks whether buffers are aligned.
// VECTORS-LABEL: func.func @odd_rows(
// VECTORS-NOT:     extract_aligned_pointer
// VECTORS:         vector.load {{.*}} vector<1xf32>
graph.func private @odd_rows(%x: tensor<40x33xf32>, %b: tensor<33xf32>) -> tensor<40x33xf32> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<40x33xf32>, tensor<33xf32>) -> tensor<40x33xf32>
  graph.return %0 : tensor<40x33xf32>
}

// -----

// A row of 768 is a warp's, two of them a unit: sums by shuffles, no shared memory. What is read of buffers that nothing may
// overwrite is read once for all three passes: 6 vectors of x, 6 of the weight, 6 of the bias.
// VECTORS-LABEL: func.func @layer_norm(
// VECTORS-NOT:     memref.global
// VECTORS-NOT:     nvvm.barrier
// VECTORS:         nvvm.shfl.sync bfly
// LLVM-LABEL: llvm.func @layer_norm(
// LLVM-SAME:    llvm.noalias
// LLVM-SAME:    nvvm.reqntid = array<i32: 64>
// PTX-LABEL:  .entry layer_norm(
// PTX:          .reqntid 64
// PTX-COUNT-18: ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX-NOT:      ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          shfl.sync.bfly.b32
graph.func private @layer_norm(%x: tensor<64x768xf32>, %w: tensor<768xf32>, %b: tensor<768xf32>) -> (tensor<64x768xf32>, tensor<64xf32>, tensor<64xf32>)
    attributes {kernel, kernel_in_place = [array<i64: 0, 0>]} {
  %0, %1, %2 = graph.layer_norm %x, %w, %b : (tensor<64x768xf32>, tensor<768xf32>, tensor<768xf32>) -> (tensor<64x768xf32>, tensor<64xf32>, tensor<64xf32>)
  graph.return %0, %1, %2 : tensor<64x768xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// A long row is a block's: warps tell each other their sums in shared memory.
// VECTORS:       memref.global "private" @softmax_shared_{{.*}} : memref<16xf32, 3>
// VECTORS-LABEL: func.func @softmax(
// VECTORS:         nvvm.shfl.sync bfly
// VECTORS:         nvvm.barrier
// PTX-LABEL:  .entry softmax(
// PTX:          .reqntid 512
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          shfl.sync.bfly.b32
// PTX:          st.shared
// PTX:          {{bar|barrier}}.
graph.func private @softmax(%x: tensor<8x50304xf32>) -> tensor<8x50304xf32> attributes {kernel} {
  %0 = graph.softmax %x : tensor<8x50304xf32>
  graph.return %0 : tensor<8x50304xf32>
}

// -----

// All threads have read the target's element before the row is overwritten, and one of them writes it when the row is done.
// VECTORS-LABEL: func.func @cross_entropy_grad(
// VECTORS:         nvvm.barrier
// VECTORS:         vector.store
// VECTORS:         nvvm.barrier
// VECTORS:         scf.if
// VECTORS:           memref.store
// PTX-LABEL:  .entry cross_entropy_grad(
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
graph.func private @cross_entropy_grad(%x: tensor<8x50304xbf16>, %t: tensor<8xi32>, %l: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<8x50304xbf16> attributes {kernel} {
  %0 = graph.cross_entropy_grad %x, %t, %l, %d : (tensor<8x50304xbf16>, tensor<8xi32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8x50304xbf16>
  graph.return %0 : tensor<8x50304xbf16>
}

// -----

// Eight threads side by side read the 32 columns of a unit; 32 of them the rows in turn, whose sums meet in shared memory.
// VECTORS-LABEL: func.func @param_grad(
// VECTORS:         scf.for {{.*}} iter_args({{.*}}) -> (vector<4xf32>, vector<4xf32>)
// VECTORS:         nvvm.shfl.sync bfly
// VECTORS:         nvvm.barrier
// PTX-LABEL:  .entry param_grad(
// PTX:          .reqntid 256
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          shfl.sync.bfly.b32
// PTX:          st.shared.{{v4|v2.b64}}
// PTX:          ld.shared.{{v4|v2.b64}}
graph.func private @param_grad(%x: tensor<8192x768xf32>, %m: tensor<8192xf32>, %r: tensor<8192xf32>, %d: tensor<8192x768xf32>) -> (tensor<768xf32>, tensor<768xf32>) attributes {kernel} {
  %0, %1 = graph.layer_norm_param_grad %x, %m, %r, %d : (tensor<8192x768xf32>, tensor<8192xf32>, tensor<8192xf32>, tensor<8192x768xf32>) -> (tensor<768xf32>, tensor<768xf32>)
  graph.return %0, %1 : tensor<768xf32>, tensor<768xf32>
}

// -----

// PTX-LABEL:  .entry column_sums(
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          st.shared.{{v4|v2.b64}}
graph.func private @column_sums(%x: tensor<8192x3072xbf16>) -> tensor<3072xbf16> attributes {kernel} {
  %0 = graph.reduce sum %x dims [0] scale 1.0 : tensor<8192x3072xbf16> -> tensor<3072xbf16>
  graph.return %0 : tensor<3072xbf16>
}

// -----

// One block, as its order of additions is one: each warp has chunks of its own, whose sums are added up in f64.
// VECTORS:       memref.global "private" @sum_squares_shared_{{.*}} : memref<512xf64, 3>
// PTX-LABEL:  .entry sum_squares(
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          add{{(\.rn)?}}.f64
graph.func private @sum_squares(%x: tensor<7087872xf32>) -> tensor<f32> attributes {kernel} {
  %0 = graph.sum_squares %x : tensor<7087872xf32>
  graph.return %0 : tensor<f32>
}

// -----

// Random numbers are drawn where they are used: no calls.
// PTX-LABEL:  .entry dropout(
// PTX-NOT:      call
// PTX:          mul.wide.u32
graph.func private @dropout(%x: tensor<4x64xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<4x64xf32> attributes {kernel} {
  %0 = graph.dropout %x p 0.1 id 3 key(%seed, %step) : tensor<4x64xf32>
  graph.return %0 : tensor<4x64xf32>
}

// -----

// Sine and cosine are arithmetic in f64 and then f32.
// LLVM-LABEL: llvm.func @rotary_table(
// LLVM-NOT:     llvm.intr.{{sin|cos}}
// PTX-LABEL:  .entry rotary_table(
// PTX:          fma.rn.f64
// PTX-NOT:    .extern
graph.func private @rotary_table() -> (tensor<8x1xf32>, tensor<8x1xf32>) attributes {kernel} {
  %0, %1 = graph.rotary_table [1.0] : tensor<8x1xf32>, tensor<8x1xf32>
  graph.return %0, %1 : tensor<8x1xf32>, tensor<8x1xf32>
}

// -----

// Heads are dealt out to groups of eight threads.
// PTX-LABEL:  .entry rotary(
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
graph.func private @rotary(%x: tensor<8x128x12x64xf32>, %c: tensor<128x32xf32>, %s: tensor<128x32xf32>) -> tensor<8x128x12x64xf32> attributes {kernel} {
  %0 = graph.rotary %x, %c, %s : (tensor<8x128x12x64xf32>, tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<8x128x12x64xf32>
  graph.return %0 : tensor<8x128x12x64xf32>
}

// -----

// Four loads of 16 bytes, then three stores.
// PTX-LABEL:  .entry adamw(
// PTX-COUNT-4:  ld.global.{{v4|v2.b64}}
// PTX-COUNT-3:  st.global.{{v4|v2.b64}}
graph.func private @adamw(%p: tensor<65536xf32>, %g: tensor<65536xf32>, %m: tensor<65536xf32>, %v: tensor<65536xf32>, %lr: tensor<f32>, %t: tensor<f32>, %s: tensor<f32>, %a: tensor<f32>) -> (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) attributes {kernel} {
  %0, %1, %2 = graph.adamw %p, %g, %m, %v lr %lr step %t grad_scale %s apply %a {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : tensor<65536xf32>
  graph.return %0, %1, %2 : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>
}

// -----

// One chunk is the whole block's, so warps meet within the loop over chunks: a barrier before what they have written is written
// again, and one after.
// VECTORS-LABEL: func.func @one_chunk(
// VECTORS:         scf.for
// VECTORS-NOT:       memref.store
// VECTORS:           nvvm.barrier
// VECTORS:           memref.store
// VECTORS:           nvvm.barrier
// VECTORS:           memref.load
graph.func private @one_chunk(%x: tensor<4096xf32>) -> tensor<f32> attributes {kernel} {
  %0 = graph.sum_squares %x : tensor<4096xf32>
  graph.return %0 : tensor<f32>
}

// -----

// Kernels that differ in size alone name one kernel for launches of both, which is made of the longer one. Its blocks look for their
// piece, and have four units of it; what is no whole vector is the last block's.
// VECTORS-LABEL: func.func @short(
// VECTORS-SAME:    dtc.merged_by = "short_merged"
// VECTORS-LABEL: func.func @long(
// VECTORS-SAME:    dtc.merged_by = "short_merged"
// VECTORS-LABEL: func.func @short_merged(
// VECTORS-SAME:    %{{.*}}: memref<9000xbf16>, %{{.*}}: memref<9000xbf16>, %[[BLOCK:[^:]*]]: index, %[[SIZE:[^:]*]]: index)
// VECTORS-SAME:    dtc.block_threads = 256
// VECTORS:         vector.load {{.*}} vector<8xbf16>
// VECTORS:         vector.load {{.*}} vector<1xbf16>
// LLVM-LABEL:  llvm.func @short_merged(
// LLVM-SAME:     %{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: i64)
// LLVM-SAME:     nvvm.kernel, nvvm.reqntid = array<i32: 256>
// LLVM-LABEL:  llvm.func internal @short_merged_piece(
// LLVM-SAME:     always_inline
// PTX-LABEL:   .entry short_merged(
// PTX-NOT:       call
// PTX:           ld.global.nc.b64
// PTX:           ld.global.v4
// PTX:           st.global.v4
graph.func private @short(%x: tensor<100xbf16>) -> tensor<100xbf16> attributes {kernel} {
  %0 = graph.gelu tanh %x : tensor<100xbf16>
  graph.return %0 : tensor<100xbf16>
}
graph.func private @long(%x: tensor<9000xbf16>) -> tensor<9000xbf16> attributes {kernel} {
  %0 = graph.gelu tanh %x : tensor<9000xbf16>
  graph.return %0 : tensor<9000xbf16>
}

// -----

// A kernel of the host is none of the GPU's, and no launch of it is one with others.
// VECTORS-NOT:   func.func @there
// VECTORS-LABEL: func.func @near(
// VECTORS-SAME:    dtc.merged_by = "near_merged"
// VECTORS-LABEL: func.func @near_merged(
// VECTORS-SAME:    %{{.*}}: memref<100xf32>, %{{.*}}: memref<100xf32>, %
graph.func private @there(%x: tensor<9000xf32>) -> tensor<9000xf32> attributes {graph.host, kernel} {
  %0 = graph.gelu tanh %x : tensor<9000xf32>
  graph.return %0 : tensor<9000xf32>
}
graph.func private @near(%x: tensor<100xf32>) -> tensor<100xf32> attributes {kernel} {
  %0 = graph.gelu tanh %x : tensor<100xf32>
  graph.return %0 : tensor<100xf32>
}

// -----

// Kernels that go through a buffer and kernels that stay at its element differ in more than size.
// VECTORS-LABEL: func.func @through(
// VECTORS-SAME:    dtc.merged_by = "through_merged"
// VECTORS-LABEL: func.func @at_one(
// VECTORS-SAME:    dtc.merged_by = "at_one_merged"
// LLVM-LABEL:  llvm.func internal @at_one_merged_piece(
graph.func private @through(%x: tensor<100xf32>, %y: tensor<100xf32>) -> tensor<100xf32> attributes {kernel} {
  %0 = graph.add %x, %y : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xf32>
  graph.return %0 : tensor<100xf32>
}
graph.func private @at_one(%x: tensor<100xf32>, %y: tensor<f32>) -> tensor<100xf32> attributes {kernel} {
  %0 = graph.add %x, %y : (tensor<100xf32>, tensor<f32>) -> tensor<100xf32>
  graph.return %0 : tensor<100xf32>
}

// -----

// Not of kernels that draw random numbers, add up, or walk through their buffers in more than one line.
// LLVM-NOT: merged
graph.func private @rows(%x: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<8x16xf32> attributes {kernel} {
  %0 = graph.add %x, %b : (tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  graph.return %0 : tensor<8x16xf32>
}
graph.func private @sums(%x: tensor<8x16xf32>) -> tensor<f32> attributes {kernel} {
  %0 = graph.sum_squares %x : tensor<8x16xf32>
  graph.return %0 : tensor<f32>
}
graph.func private @drawn(%x: tensor<8x16xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<8x16xf32> attributes {kernel} {
  %0 = graph.dropout %x p 0.1 id 3 key(%seed, %step) : tensor<8x16xf32>
  graph.return %0 : tensor<8x16xf32>
}

// -----

// Chunks of several tensors: the block's number says of which, and one loop serves all. Each warp adds up runs of 1024 elements, of which a
// thread reads 8 vectors before it adds; sums of warps meet in shared memory once. What is no whole run is the last chunk's.
// VECTORS:       memref.global "private" @chunk_squares_shared_{{.*}} : memref<512xf32, 3>
// VECTORS-LABEL: func.func @chunk_squares(
// VECTORS-SAME:    %[[X:[^:]*]]: memref<1769472xf32>, %[[Y:[^:]*]]: memref<2300xf32>, %{{.*}}: memref<112xf32>
// VECTORS:         arith.select %{{.*}} : memref<?xf32>
// VECTORS:         scf.for {{.*}} iter_args({{.*}}) -> (f32)
// VECTORS-COUNT-8:   vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// VECTORS-NOT:       vector.load {{.*}} : memref<?xf32>, vector<4xf32>
// VECTORS:         nvvm.barrier
// VECTORS:         vector.load %[[Y]]
// PTX-LABEL:  .entry chunk_squares(
// PTX:          .reqntid 512
// PTX-NOT:      ld.v4
// PTX-COUNT-8:  ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          shfl.sync.bfly.b32
// PTX:          st.shared
graph.func private @chunk_squares(%x: tensor<768x2304xf32>, %y: tensor<2300xf32>) -> tensor<112xf32> attributes {kernel} {
  %0 = graph.chunk_squares %x, %y chunks [108, 1] : (tensor<768x2304xf32>, tensor<2300xf32>) -> tensor<112xf32>
  graph.return %0 : tensor<112xf32>
}

// -----

// A part of the rows is a block's, from its first row on; 16 threads read the 128 columns of one.
// VECTORS-LABEL: func.func @row_part_sums(
// VECTORS:         %[[FIRST:.*]] = arith.muli %{{.*}}, %c96
// VECTORS:         %[[LEFT:.*]] = arith.subi %c8192, %[[FIRST]]
// VECTORS:         arith.minsi %{{.*}}
// VECTORS:         scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>)
// VECTORS:           arith.addi %[[FIRST]]
// VECTORS:         nvvm.barrier
// PTX-LABEL:  .entry row_part_sums(
// PTX:          .reqntid 256
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
// PTX:          st.shared.{{v4|v2.b64}}
graph.func private @row_part_sums(%x: tensor<8192x768xbf16>) -> tensor<86x768xf32> attributes {kernel} {
  %0 = graph.row_part_sums %x : tensor<8192x768xbf16> -> tensor<86x768xf32>
  graph.return %0 : tensor<86x768xf32>
}

// -----

// PTX-LABEL:  .entry sum_parts(
// PTX:          .reqntid 128
// PTX:          ld.global.{{(nc\.)?(v4|v2.b64)}}
graph.func private @sum_parts(%p: tensor<86x768xf32>, %q: tensor<86x768xf32>) -> (tensor<768xf32>, tensor<768xbf16>) attributes {kernel} {
  %0, %1 = graph.sum_parts %p, %q : (tensor<86x768xf32>, tensor<86x768xf32>) -> (tensor<768xf32>, tensor<768xbf16>)
  graph.return %0, %1 : tensor<768xf32>, tensor<768xbf16>
}
