// Ops at indices and selection: printed forms and rules.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s -dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @gather
graph.func @gather(%x: tensor<?x8x4xf32>, %i: tensor<?x3x4xi32>, %j: tensor<5xf32>) {
  // CHECK: graph.gather %{{.*}}, %{{.*}} dim 1 : (tensor<?x8x4xf32>, tensor<?x3x4xi32>) -> tensor<?x3x4xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 whole, 2:4 parallel, 3:3 whole; [0, 1, 2], [0, 3, 2] -> [0, 3, 2]; 0 flops per point, zero-preserving, linear}}
  %0 = graph.gather %x, %i dim 1 : (tensor<?x8x4xf32>, tensor<?x3x4xi32>) -> tensor<?x3x4xf32>
  // CHECK: graph.gather %{{.*}}, %{{.*}} dim 2 : (tensor<?x8x4xf32>, tensor<5xf32>) -> tensor<?x8x5xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:4 whole, 3:5 whole; [0, 1, 2], [3] -> [0, 1, 3]; 0 flops per point, zero-preserving, linear}}
  %1 = graph.gather %x, %j dim 2 : (tensor<?x8x4xf32>, tensor<5xf32>) -> tensor<?x8x5xf32>
  graph.return
}

// CHECK-LABEL: graph.func @scatter_add
graph.func @scatter_add(%u: tensor<?x3x4xbf16>, %i: tensor<?x3x4xi64>, %j: tensor<3xi32>) {
  // CHECK: graph.scatter_add %{{.*}}, %{{.*}} dim 1 : (tensor<?x3x4xbf16>, tensor<?x3x4xi64>) -> tensor<?x8x4xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:3 whole, 2:4 parallel, 3:8 whole; [0, 1, 2], [0, 1, 2] -> [0, 3, 2]; 0 flops per point, zero-preserving, linear}}
  %0 = graph.scatter_add %u, %i dim 1 : (tensor<?x3x4xbf16>, tensor<?x3x4xi64>) -> tensor<?x8x4xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:3 whole, 2:4 parallel, 3:8 whole; [0, 1, 2], [1] -> [0, 3, 2]; 0 flops per point, zero-preserving, linear}}
  %1 = graph.scatter_add %u, %j dim 1 : (tensor<?x3x4xbf16>, tensor<3xi32>) -> tensor<?x8x4xf32>
  graph.return
}

// CHECK-LABEL: graph.func @top_k
graph.func @top_k(%x: tensor<?x8x4xf32>) {
  // CHECK: graph.top_k %{{.*}} dim 1 : tensor<?x8x4xf32> -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:8 whole, 2:4 parallel, 3:2 whole; [0, 1, 2] -> [0, 3, 2], [0, 3, 2]; 1 flops per point}}
  %0, %1 = graph.top_k %x dim 1 : tensor<?x8x4xf32> -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>)
  // CHECK: graph.top_k %{{.*}} dim 2 smallest : tensor<?x8x4xf32> -> (tensor<?x8x4xf32>, tensor<?x8x4xf32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:4 whole, 3:4 whole; [0, 1, 2] -> [0, 1, 3], [0, 1, 3]; 1 flops per point}}
  %2, %3 = graph.top_k %x dim 2 smallest : tensor<?x8x4xf32> -> (tensor<?x8x4xf32>, tensor<?x8x4xf32>)
  graph.return
}
