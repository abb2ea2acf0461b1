// Compressed gradients: assembly, loops, and states with shapes of their own.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

graph.parameter @w : tensor<8x16xf32> init zeros
// CHECK: graph.state @w.compress_error of @w : tensor<4x8x16xf32> {graph.by_rank}
graph.state @w.compress_error of @w : tensor<4x8x16xf32> {graph.by_rank}
// CHECK: graph.state @w.compress_q of @w : tensor<16x2xf32> init normal{{.*}} {graph.own_shape}
graph.state @w.compress_q of @w : tensor<16x2xf32> init normal(0.0, 1.0) {graph.own_shape}

// CHECK-LABEL: graph.func @update
graph.func @update(%g: tensor<8x16xf32>) {
  // CHECK: graph.addends %{{.*}} ranks 4 : tensor<8x16xf32> -> tensor<4x8x16xf32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel, 2:16 parallel; [1, 2] -> [0, 1, 2]; 0 flops per point, view, zero-preserving}}
  %each = graph.addends %g ranks 4 : tensor<8x16xf32> -> tensor<4x8x16xf32>
  graph.return
}
