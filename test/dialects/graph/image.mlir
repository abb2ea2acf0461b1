// Convolution and pooling: assembly, and the loops that each says it has.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// Pixels of the image belong to no loop. The three products have the same points.
// CHECK-LABEL: graph.func @convolution
graph.func @convolution(%x: tensor<?x3x9x8xf32>, %w: tensor<16x3x3x5xf32>, %dy: tensor<?x16x5x8xf32>) {
  // CHECK: graph.conv2d %{{.*}}, %{{[^ ]*}} stride [2, 1] padding [1, 2] : (tensor<?x3x9x8xf32>, tensor<16x3x3x5xf32>) -> tensor<?x16x5x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:16 parallel, 2:3 sum, 3:5 whole, 4:3 whole, 5:8 whole, 6:5 whole; [0, 2, -, -], [1, 2, 4, 6] -> [0, 1, 3, 5]; 2 flops per point, product of m 0 3 5 n 1 k 2 4 6, zero-preserving; channels 1, 2}}
  %0 = graph.conv2d %x, %w stride [2, 1] padding [1, 2] : (tensor<?x3x9x8xf32>, tensor<16x3x3x5xf32>) -> tensor<?x16x5x8xf32>
  // CHECK: graph.conv2d_input_grad %{{.*}}, %{{[^ ]*}} stride [2, 1] padding [1, 2] :
  // expected-remark @+1 {{loops 0:? parallel, 1:16 sum, 2:3 parallel, 3:5 whole, 4:3 whole, 5:8 whole, 6:5 whole; [0, 1, 3, 5], [1, 2, 4, 6] -> [0, 2, -, -]; 2 flops per point, product of m 0 3 5 n 2 4 6 k 1, gradient, zero-preserving; channels 1, 2}}
  %1 = graph.conv2d_input_grad %dy, %w stride [2, 1] padding [1, 2] : (tensor<?x16x5x8xf32>, tensor<16x3x3x5xf32>) -> tensor<?x3x9x8xf32>
  // CHECK: graph.conv_transpose2d %{{.*}}, %{{[^ ]*}} stride [2, 1] padding [1, 2] :
  // expected-remark @+1 {{loops 0:? parallel, 1:16 sum, 2:3 parallel, 3:5 whole, 4:3 whole, 5:8 whole, 6:5 whole; [0, 1, 3, 5], [1, 2, 4, 6] -> [0, 2, -, -]; 2 flops per point, product of m 0 3 5 n 2 4 6 k 1, zero-preserving; channels 1, 2}}
  %3 = graph.conv_transpose2d %dy, %w stride [2, 1] padding [1, 2] : (tensor<?x16x5x8xf32>, tensor<16x3x3x5xf32>) -> tensor<?x3x9x8xf32>
  // CHECK: graph.conv2d_weight_grad %{{.*}}, %{{[^ ]*}} stride [2, 1] padding [1, 2] :
  // expected-remark @+1 {{loops 0:? sum, 1:16 parallel, 2:3 parallel, 3:5 whole, 4:3 whole, 5:8 whole, 6:5 whole; [0, 2, -, -], [0, 1, 3, 5] -> [1, 2, 4, 6]; 2 flops per point, product of m 2 4 6 n 1 k 0 3 5, gradient, zero-preserving; channels 1, 2}}
  %2 = graph.conv2d_weight_grad %x, %dy stride [2, 1] padding [1, 2] : (tensor<?x3x9x8xf32>, tensor<?x16x5x8xf32>) -> tensor<16x3x3x5xf32>
  graph.return
}

// Groups are the outer loop of channels and filters.
// CHECK-LABEL: graph.func @groups
graph.func @groups(%x: tensor<?x8x9x9xf32>, %w: tensor<12x2x3x3xf32>) {
  // CHECK: graph.conv2d %{{.*}}, %{{[^ ]*}} dilation [3, 2] :
  // expected-remark @+1 {{loops 0:? parallel, 1:4 parallel, 2:3 parallel, 3:2 sum, 4:3 whole, 5:3 whole, 6:5 whole, 7:3 whole; [0, 1*3, -, -], [1*2, 3, 5, 7] -> [0, 1*2, 4, 6]; 2 flops per point, product of batch 1 m 0 4 6 n 2 k 3 5 7, zero-preserving; channels 1, 2, 3}}
  %0 = graph.conv2d %x, %w dilation [3, 2] : (tensor<?x8x9x9xf32>, tensor<12x2x3x3xf32>) -> tensor<?x12x3x5xf32>
  graph.return
}

// A bias is one for each filter, and its sum an op of its own.
// CHECK-LABEL: graph.func @short_form
graph.func @short_form(%x: tensor<?x3x4x4xf32>, %w: tensor<6x3x1x1xf32>, %b: tensor<6xf32>) -> tensor<?x6x4x4xf32> {
  // CHECK: graph.conv2d %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{[0, 2, -, -], [1, 2, 4, 6], [1] -> [0, 1, 3, 5]}}
  %0 = graph.conv2d %x, %w, %b : (tensor<?x3x4x4xf32>, tensor<6x3x1x1xf32>, tensor<6xf32>) -> tensor<?x6x4x4xf32>
  graph.return %0 : tensor<?x6x4x4xf32>
}

// CHECK-LABEL: graph.func @pooling
graph.func @pooling(%x: tensor<?x16x9x8xf32>, %dy: tensor<?x16x4x5xf32>) {
  // CHECK: graph.max_pool2d %{{[^ ]*}} kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<?x16x9x8xf32> -> tensor<?x16x4x5xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:16 parallel, 2:4 whole, 3:5 whole, 4:3 whole, 5:2 whole; [0, 1, -, -] -> [0, 1, 2, 3]; 1 flops per point, zero-preserving; channels 1}}
  %0 = graph.max_pool2d %x kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<?x16x9x8xf32> -> tensor<?x16x4x5xf32>
  // CHECK: graph.avg_pool2d %{{[^ ]*}} kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<?x16x9x8xf32> -> tensor<?x16x4x5xf32>
  // expected-remark @+1 {{[0, 1, -, -] -> [0, 1, 2, 3]; 1 flops per point, zero-preserving, linear; channels 1}}
  %1 = graph.avg_pool2d %x kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<?x16x9x8xf32> -> tensor<?x16x4x5xf32>
  // CHECK: graph.max_pool2d_grad %{{.*}}, %{{[^ ]*}} kernel [3, 2] stride [2, 2] padding [0, 1] :
  // expected-remark @+1 {{[0, 1, -, -], [0, 1, 2, 3] -> [0, 1, -, -]; 1 flops per point, gradient, zero-preserving; channels 1}}
  %2 = graph.max_pool2d_grad %x, %dy kernel [3, 2] stride [2, 2] padding [0, 1] : (tensor<?x16x9x8xf32>, tensor<?x16x4x5xf32>) -> tensor<?x16x9x8xf32>
  // CHECK: graph.avg_pool2d_grad %{{[^ ]*}} kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<?x16x4x5xf32> -> tensor<?x16x9x8xf32>
  // expected-remark @+1 {{[0, 1, 2, 3] -> [0, 1, -, -]; 1 flops per point, gradient, zero-preserving, linear; channels 1}}
  %3 = graph.avg_pool2d_grad %dy kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<?x16x4x5xf32> -> tensor<?x16x9x8xf32>
  graph.return
}
