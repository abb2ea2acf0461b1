// Roundings of products' operands to 8 bits: assembly and loops; a largest magnitude over a split dim is a partial maximum.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null
// RUN: dtc-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: graph.func @round
// FOLD-LABEL: graph.func @round
graph.func @round(%x: tensor<4x8x16xbf16>) -> tensor<4x8x16xbf16> {
  // CHECK: graph.amax %{{.*}} : tensor<4x8x16xbf16> -> tensor<f32>
  // expected-remark @+1 {{loops 0:4 max, 1:8 max, 2:16 max; [0, 1, 2] -> []; 2 flops per point, zero-preserving}}
  %a = graph.amax %x : tensor<4x8x16xbf16> -> tensor<f32>
  // CHECK: graph.quantise e4m3 %{{.*}} by %{{.*}} : tensor<4x8x16xbf16>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [] -> [0, 1, 2]; 12 flops per point, zero-preserving}}
  %q = graph.quantise e4m3 %x by %a : tensor<4x8x16xbf16>
  // CHECK: graph.quantise e5m2 %{{.*}} by %{{.*}} again : tensor<4x8x16xbf16>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [] -> [0, 1, 2]; 12 flops per point, zero-preserving}}
  %r = graph.quantise e5m2 %q by %a again : tensor<4x8x16xbf16>
  // CHECK: graph.quantise_gradient e5m2 %{{.*}} : tensor<4x8x16xbf16>
  // FOLD-NOT: graph.quantise_gradient
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2] -> [0, 1, 2]; 0 flops per point, zero-preserving}}
  %z = graph.quantise_gradient e5m2 %r : tensor<4x8x16xbf16>
  graph.return %z : tensor<4x8x16xbf16>
}

// CHECK-LABEL: graph.func @rows
graph.func @rows(%x: tensor<4x8x16xf32>) -> tensor<4xf32> {
  // CHECK: graph.amax %{{.*}} : tensor<4x8x16xf32> -> tensor<4xf32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 max, 2:16 max; [0, 1, 2] -> [0]; 2 flops per point, zero-preserving}}
  %a = graph.amax %x : tensor<4x8x16xf32> -> tensor<4xf32>
  graph.return %a : tensor<4xf32>
}
