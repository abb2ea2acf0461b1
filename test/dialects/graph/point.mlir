// Functions by name, comparisons and choices: assembly, and the loops that each says it has.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --mlir-print-op-generic | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @functions
graph.func @functions(%x: tensor<?x8xf32>) {
  // CHECK: graph.point sigmoid %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 13 flops per point}}
  %0 = graph.point sigmoid %x : tensor<?x8xf32>
  // CHECK: graph.point softplus [1.000000e+00, 2.000000e+01] %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 24 flops per point}}
  %1 = graph.point softplus [1.0, 20.0] %x : tensor<?x8xf32>
  // CHECK: graph.point clamp [0xFFF0000000000000, 1.000000e+00] %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 2 flops per point, zero-preserving}}
  %2 = graph.point clamp [0xFFF0000000000000, 1.0] %x : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 2 flops per point}}
  %3 = graph.point clamp [0.5, 1.0] %x : tensor<?x8xf32>
  // CHECK: graph.point_grad softplus [1.000000e+00, 2.000000e+01] %{{.*}}, %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1], [0, 1] -> [0, 1]; 16 flops per point, zero-preserving}}
  %4 = graph.point_grad softplus [1.0, 20.0] %x, %0 : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1], [0, 1] -> [0, 1]; 6 flops per point}}
  %5 = graph.point_grad rsqrt %x, %0 : tensor<?x8xf32>
  graph.return
}

// CHECK-LABEL: graph.func @choices
graph.func @choices(%x: tensor<?x8xf32>, %b: tensor<8xf32>, %i: tensor<?x1xi32>, %h: tensor<?x8xbf16>) {
  // CHECK: graph.compare lt %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1], [1] -> [0, 1]; 1 flops per point, zero-preserving; fed 0}}
  %0 = graph.compare lt %x, %b : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:1 parallel; [0, 1], [0, 1] -> [0, 1]; 1 flops per point}}
  %1 = graph.compare ge %i, %i : (tensor<?x1xi32>, tensor<?x1xi32>) -> tensor<?x1xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1], [0, 1] -> [0, 1]; 1 flops per point}}
  %2 = graph.compare eq %h, %h : (tensor<?x8xbf16>, tensor<?x8xbf16>) -> tensor<?x8xbf16>
  // CHECK: graph.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1], [0, 1], [1] -> [0, 1]; 1 flops per point, zero-preserving; fed 0}}
  %3 = graph.where %0, %x, %b : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // The mask has any type. Repeated into padding, it may choose a side that is repeated too.
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, -], [1], [0, 1] -> [0, 1]; 1 flops per point, zero-preserving}}
  %4 = graph.where %i, %b, %x : (tensor<?x1xi32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [1], [1], [0, 1] -> [0, 1]; 1 flops per point, zero-preserving; fed 0}}
  %5 = graph.where %b, %b, %x : (tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  graph.return
}

// CHECK-LABEL: graph.func @counting
graph.func @counting() {
  // CHECK: graph.iota : tensor<16xf32>
  // expected-remark @+1 {{loops 0:16 parallel;  -> [0]; 0 flops per point; indexed 0}}
  %0 = graph.iota : tensor<16xf32>
  // CHECK: graph.iota {windows = [#graph.window<loop = 0, local = 8, global = 15, axes = [1]>]} : tensor<8xi32>
  // expected-remark @+1 {{loops 0:8 parallel;  -> [0]; 0 flops per point; indexed 0}}
  %1 = graph.iota {windows = [#graph.window<loop = 0, local = 8, global = 15, axes = [1]>]} : tensor<8xi32>
  graph.return
}
