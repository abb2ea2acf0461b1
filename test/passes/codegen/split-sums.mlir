// RUN: dtc-opt %s --dtc-split-sums --split-input-file | FileCheck %s
// RUN: dtc-opt %s --dtc-split-sums --dtc-form-kernels --split-input-file | FileCheck %s --check-prefix=KERNELS

// 768 columns are 6 blocks: 86 parts of 96 rows make 516 of them. The scale is that of the whole sum.
// CHECK-LABEL: graph.func @bias
// CHECK:         %[[P:.*]] = graph.row_part_sums %{{.*}} : tensor<8x1024x768xbf16> -> tensor<86x768xf32>
// CHECK:         %[[S:.*]] = graph.sum_parts %[[P]] scale 5.000000e-01 : (tensor<86x768xf32>) -> tensor<768xf32>
// CHECK:         graph.return %[[S]]
// KERNELS:     graph.func private @kernel_0
// KERNELS-SAME:  kernel_combines, kernel_in_place = [], kernel_points = 12288 : i64, kernel_range = 516 : i64
// KERNELS:     graph.func private @kernel_1
// KERNELS-SAME:  kernel_combines, kernel_in_place = [], kernel_points = 2752 : i64, kernel_range = 24 : i64
graph.func @bias(%x: tensor<8x1024x768xbf16>) -> tensor<768xf32> {
  %0 = graph.reduce sum %x dims [0, 1] scale 0.5 : tensor<8x1024x768xbf16> -> tensor<768xf32>
  graph.return %0 : tensor<768xf32>
}

// -----

// A mean is a sum, and the result keeps its type.
// CHECK-LABEL: graph.func @mean
// CHECK:         graph.sum_parts %{{.*}} scale 1.562500e-02 : (tensor<4x2x8xf32>) -> tensor<2x8xbf16>
graph.func @mean(%x: tensor<64x2x8xbf16>) -> tensor<2x8xbf16> {
  %0 = graph.reduce mean %x dims [0] : tensor<64x2x8xbf16> -> tensor<2x8xbf16>
  graph.return %0 : tensor<2x8xbf16>
}

// -----

// What has blocks enough, few rows, or no rows first is one sum as it was, and so is a maximum.
// CHECK-LABEL: graph.func @whole
// CHECK-COUNT-4: graph.reduce
// CHECK-NOT:     graph.{{.*}}part
graph.func @whole(%x: tensor<64x40000xf32>, %y: tensor<31x768xf32>, %z: tensor<4x4096x8xf32>, %u: tensor<4096x8xf32>)
    -> (tensor<40000xf32>, tensor<768xf32>, tensor<4x8xf32>, tensor<8xf32>) {
  %0 = graph.reduce sum %x dims [0] : tensor<64x40000xf32> -> tensor<40000xf32>
  %1 = graph.reduce sum %y dims [0] : tensor<31x768xf32> -> tensor<768xf32>
  %2 = graph.reduce sum %z dims [1] : tensor<4x4096x8xf32> -> tensor<4x8xf32>
  %3 = graph.reduce max %u dims [0] : tensor<4096x8xf32> -> tensor<8xf32>
  graph.return %0, %1, %2, %3 : tensor<40000xf32>, tensor<768xf32>, tensor<4x8xf32>, tensor<8xf32>
}

// -----

// Both gradients are one launch, and their sums another. What is said of the op is said of both.
// CHECK-LABEL: graph.func @norms
// CHECK:         %[[P:.*]]:2 = graph.norm_param_grad_parts %{{.*}}, %{{.*}}, %{{.*}} mean %{{.*}} {graph.unfinished = array<i64: 1, 1>}
// CHECK-SAME:      -> (tensor<86x768xf32>, tensor<86x768xf32>)
// CHECK:         %[[S:.*]]:2 = graph.sum_parts %[[P]]#0, %[[P]]#1 {graph.unfinished = array<i64: 1, 1>}
// CHECK:         %[[Q:.*]] = graph.norm_param_grad_parts %{{.*}}, %{{.*}}, %{{.*}} : {{.*}} -> tensor<86x768xf32>
// CHECK:         %[[T:.*]] = graph.sum_parts %[[Q]]
// CHECK:         graph.return %[[S]]#0, %[[S]]#1, %[[T]]
graph.func @norms(%x: tensor<8192x768xbf16>, %m: tensor<8192xf32>, %r: tensor<8192xf32>, %d: tensor<8192x768xbf16>)
    -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %0, %1 = graph.layer_norm_param_grad %x, %m, %r, %d {graph.unfinished = array<i64: 1, 1>}
    : (tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192xf32>, tensor<8192x768xbf16>) -> (tensor<768xf32>, tensor<768xf32>)
  %2 = graph.rms_norm_param_grad %x, %r, %d : (tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192x768xbf16>) -> tensor<768xf32>
  graph.return %0, %1, %2 : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
}

// -----

// The squares of the tensors of a norm are one launch, whatever stands between them, and their sum another. Chunks are of 16384
// elements; the third tensor, of another type, is a launch of its own.
// CHECK-LABEL: graph.func @norm
// CHECK-SAME:    (%[[W:.*]]: tensor<768x2304xf32>, %[[B:.*]]: tensor<2304xf32>, %[[H:.*]]: tensor<4x8xbf16>, %[[O:.*]]: tensor<f32>)
// CHECK:         %[[D:.*]] = graph.chunk_squares %[[H]] chunks [1] : (tensor<4x8xbf16>) -> tensor<4xf32>
// CHECK:         %[[C:.*]] = graph.chunk_squares %[[W]], %[[B]] chunks [108, 1] : (tensor<768x2304xf32>, tensor<2304xf32>) -> tensor<112xf32>
// CHECK:         %[[S:.*]] = graph.sum_chunks %[[C]] : tensor<112xf32>
// CHECK:         %[[T:.*]] = graph.sum_chunks %[[D]] : tensor<4xf32>
// CHECK:         %[[A:.*]] = graph.add %[[O]], %[[S]]
// CHECK:         %[[N:.*]] = graph.add %[[A]], %[[T]]
// CHECK:         graph.sqrt %[[N]]
// CHECK-NOT:     graph.sum_squares
graph.func @norm(%w: tensor<768x2304xf32>, %b: tensor<2304xf32>, %h: tensor<4x8xbf16>, %other: tensor<f32>) -> tensor<f32> {
  %0 = graph.sum_squares %w : tensor<768x2304xf32>
  %1 = graph.add %other, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = graph.sum_squares %h : tensor<4x8xbf16>
  %3 = graph.add %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %4 = graph.sum_squares %b : tensor<2304xf32>
  %5 = graph.add %3, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %6 = graph.sqrt %5 : tensor<f32>
  graph.return %6 : tensor<f32>
}

// -----

// What is asked for by itself stays: one tensor that is a chunk as it was, and one of more in two steps.
// CHECK-LABEL: graph.func @ratio
// CHECK:         %[[A:.*]] = graph.sum_squares %{{.*}} : tensor<768xf32>
// CHECK:         %[[C:.*]] = graph.chunk_squares %{{.*}} chunks [2] : (tensor<20000xf32>) -> tensor<4xf32>
// CHECK:         %[[B:.*]] = graph.sum_chunks %[[C]] : tensor<4xf32>
// CHECK:         graph.trust_ratio %[[A]], %[[B]]
graph.func @ratio(%x: tensor<768xf32>, %y: tensor<20000xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = graph.sum_squares %x : tensor<768xf32>
  %1 = graph.sum_squares %y : tensor<20000xf32>
  %2 = graph.trust_ratio %0, %1 coefficient 1.0 decay 0.0
  %3 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2, %3 : tensor<f32>, tensor<f32>
}

// -----

// Sums are added up together where all that is said of them is alike.
// CHECK-LABEL: graph.func @unlike
// CHECK-SAME:    (%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<8xf32>, %[[D:.*]]: tensor<8xf32>)
// CHECK:         %[[P:.*]] = graph.chunk_squares %[[A]], %[[C]] chunks [1, 1] {graph.unfinished = array<i64: 2>}
// CHECK:         %[[Q:.*]] = graph.chunk_squares %[[B]], %[[D]] chunks [1, 1] {graph.unfinished = array<i64: 1>}
// CHECK:         %[[S:.*]] = graph.sum_chunks %[[P]] {graph.unfinished = array<i64: 2>}
// CHECK:         %[[T:.*]] = graph.sum_chunks %[[Q]] {graph.unfinished = array<i64: 1>}
// CHECK:         graph.add %[[S]], %[[T]]
graph.func @unlike(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<f32> {
  %0 = graph.sum_squares %a {graph.unfinished = array<i64: 2>} : tensor<8xf32>
  %1 = graph.sum_squares %b {graph.unfinished = array<i64: 1>} : tensor<8xf32>
  %2 = graph.sum_squares %c {graph.unfinished = array<i64: 2>} : tensor<8xf32>
  %3 = graph.sum_squares %d {graph.unfinished = array<i64: 1>} : tensor<8xf32>
  %4 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %5 = graph.add %2, %3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %6 = graph.add %4, %5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %6 : tensor<f32>
}

// -----

// 16 tensors are a launch.
// CHECK-LABEL: graph.func @many
// CHECK:         graph.chunk_squares %{{.*}}, %{{.*}}, %{{.*}} chunks [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] : {{.*}} -> tensor<16xf32>
// CHECK:         graph.chunk_squares %{{.*}}, %{{.*}} chunks [1, 1] : {{.*}} -> tensor<4xf32>
// CHECK:         graph.sum_chunks %{{.*}}, %{{.*}} : tensor<16xf32>, tensor<4xf32>
graph.func @many(%x: tensor<8xf32>) -> tensor<f32> {
  %s0 = graph.sum_squares %x : tensor<8xf32>
  %s1 = graph.sum_squares %x : tensor<8xf32>
  %s2 = graph.sum_squares %x : tensor<8xf32>
  %s3 = graph.sum_squares %x : tensor<8xf32>
  %s4 = graph.sum_squares %x : tensor<8xf32>
  %s5 = graph.sum_squares %x : tensor<8xf32>
  %s6 = graph.sum_squares %x : tensor<8xf32>
  %s7 = graph.sum_squares %x : tensor<8xf32>
  %s8 = graph.sum_squares %x : tensor<8xf32>
  %s9 = graph.sum_squares %x : tensor<8xf32>
  %s10 = graph.sum_squares %x : tensor<8xf32>
  %s11 = graph.sum_squares %x : tensor<8xf32>
  %s12 = graph.sum_squares %x : tensor<8xf32>
  %s13 = graph.sum_squares %x : tensor<8xf32>
  %s14 = graph.sum_squares %x : tensor<8xf32>
  %s15 = graph.sum_squares %x : tensor<8xf32>
  %s16 = graph.sum_squares %x : tensor<8xf32>
  %s17 = graph.sum_squares %x : tensor<8xf32>
  %t1 = graph.add %s0, %s1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t2 = graph.add %t1, %s2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t3 = graph.add %t2, %s3 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t4 = graph.add %t3, %s4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t5 = graph.add %t4, %s5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t6 = graph.add %t5, %s6 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t7 = graph.add %t6, %s7 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t8 = graph.add %t7, %s8 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t9 = graph.add %t8, %s9 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t10 = graph.add %t9, %s10 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t11 = graph.add %t10, %s11 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t12 = graph.add %t11, %s12 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t13 = graph.add %t12, %s13 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t14 = graph.add %t13, %s14 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t15 = graph.add %t14, %s15 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t16 = graph.add %t15, %s16 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %t17 = graph.add %t16, %s17 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %t17 : tensor<f32>
}

// -----

// The largest magnitude of a long tensor is that of as many parts as there are to be blocks; that of a short one is not
// cut.
// CHECK-LABEL: graph.func @amax
// CHECK:         %[[CUT:.*]] = graph.reshape %{{.*}} : tensor<1024x2048xbf16> -> tensor<512x4096xbf16>
// CHECK:         %[[PARTS:.*]] = graph.amax %[[CUT]] : tensor<512x4096xbf16> -> tensor<512xf32>
// CHECK:         graph.amax %[[PARTS]] : tensor<512xf32> -> tensor<f32>
// CHECK:         graph.amax %{{.*}} : tensor<64x64xbf16> -> tensor<f32>
graph.func @amax(%x: tensor<1024x2048xbf16>, %y: tensor<64x64xbf16>) -> (tensor<f32>, tensor<f32>) {
  %a = graph.amax %x : tensor<1024x2048xbf16> -> tensor<f32>
  %b = graph.amax %y : tensor<64x64xbf16> -> tensor<f32>
  graph.return %a, %b : tensor<f32>, tensor<f32>
}
