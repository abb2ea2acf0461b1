// Point-by-point ops: assembly, and one loop per result dim.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// A broadcast operand lacks loops; what it adds there is not zero ("fed").
// CHECK-LABEL: graph.func @binary
graph.func @binary(%x: tensor<?x8x16xf32>, %b: tensor<16xf32>, %c: tensor<8x1xf32>) {
  // CHECK: graph.add %{{.*}}, %{{.*}} : (tensor<?x8x16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [2] -> [0, 1, 2]; 1 flops per point, zero-preserving, linear; fed 0, 1}}
  %0 = graph.add %x, %b : (tensor<?x8x16xf32>, tensor<16xf32>) -> tensor<?x8x16xf32>
  // CHECK: graph.subtract %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 1 flops per point, zero-preserving, linear}}
  %1 = graph.subtract %x, %x : (tensor<?x8x16xf32>, tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
  // CHECK: graph.multiply %{{.*}}, %{{.*}} : (tensor<?x8x16xf32>, tensor<8x1xf32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [1, -] -> [0, 1, 2]; 1 flops per point, zero-preserving}}
  %2 = graph.multiply %x, %c : (tensor<?x8x16xf32>, tensor<8x1xf32>) -> tensor<?x8x16xf32>
  // CHECK: graph.divide %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 1 flops per point}}
  %3 = graph.divide %x, %x : (tensor<?x8x16xf32>, tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
  // CHECK: graph.minimum %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [1, -] -> [0, 1, 2]; 1 flops per point, zero-preserving; fed 0, 2}}
  %4 = graph.minimum %x, %c : (tensor<?x8x16xf32>, tensor<8x1xf32>) -> tensor<?x8x16xf32>
  // CHECK: graph.maximum %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 1 flops per point, zero-preserving}}
  %5 = graph.maximum %x, %x : (tensor<?x8x16xf32>, tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @unary
graph.func @unary(%x: tensor<?x8xf32>) {
  // CHECK: graph.negate %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 1 flops per point, zero-preserving, linear}}
  %0 = graph.negate %x : tensor<?x8xf32>
  // CHECK: graph.exp %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 10 flops per point}}
  %1 = graph.exp %x : tensor<?x8xf32>
  // CHECK: graph.log %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 10 flops per point}}
  %2 = graph.log %x : tensor<?x8xf32>
  // CHECK: graph.sqrt %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 1 flops per point, zero-preserving}}
  %3 = graph.sqrt %x : tensor<?x8xf32>
  // CHECK: graph.tanh %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 15 flops per point, zero-preserving}}
  %4 = graph.tanh %x : tensor<?x8xf32>
  // CHECK: graph.silu %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 13 flops per point, zero-preserving}}
  %5 = graph.silu %x : tensor<?x8xf32>
  // CHECK: graph.gelu tanh %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 20 flops per point, zero-preserving}}
  %6 = graph.gelu tanh %x : tensor<?x8xf32>
  // CHECK: graph.gelu erf %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 20 flops per point, zero-preserving}}
  %7 = graph.gelu erf %x : tensor<?x8xf32>
  // CHECK: graph.scale %{{.*}} by 5.000000e-01 : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 1 flops per point, zero-preserving, linear}}
  %8 = graph.scale %x by 0.5 : tensor<?x8xf32>
  // CHECK: graph.cast %{{.*}} : tensor<?x8xf32> to tensor<?x8xbf16>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 0 flops per point, zero-preserving}}
  %9 = graph.cast %x : tensor<?x8xf32> to tensor<?x8xbf16>
  graph.return
}

// Only a constant of zeros stays zero in padding.
// CHECK-LABEL: graph.func @constant
graph.func @constant() {
  // CHECK: graph.constant 1.000000e+00 : tensor<f32>
  // expected-remark @+1 {{loops;  -> []; 0 flops per point}}
  %0 = graph.constant 1.0 : tensor<f32>
  // CHECK: graph.constant 0.000000e+00 : tensor<4x8xf32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel;  -> [0, 1]; 0 flops per point, zero-preserving}}
  %1 = graph.constant 0.0 : tensor<4x8xf32>
  graph.return
}
