// Optimizers with a rate for each tensor: assembly and loops; a parameter's update splits in any way, a ratio is of whole norms.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @update
graph.func @update(%w: tensor<16x4xf32>, %g: tensor<16x4xf32>, %m: tensor<16x4xf32>, %v: tensor<16x4xf32>, %s: tensor<f32>) {
  // CHECK: graph.lamb_direction %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} step %{{.*}} grad_scale %{{.*}} apply %{{.*}} {beta1 = 9.000000e-01 : f64
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [0, 1], [0, 1], [0, 1], [], [], [] -> [0, 1], [0, 1], [0, 1]; 18 flops per point, zero-preserving}}
  %d:3 = graph.lamb_direction %w, %g, %m, %v step %s grad_scale %s apply %s {beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-6, weight_decay = 0.01} : tensor<16x4xf32>
  // CHECK: graph.trust_ratio %{{.*}}, %{{.*}} coefficient 1.000000e+00 decay 0.000000e+00
  // expected-remark @+1 {{loops; [], [] -> []; 6 flops per point}}
  %ratio = graph.trust_ratio %s, %s coefficient 1.0 decay 0.0
  // CHECK: graph.descend %{{.*}}, %{{.*}} lr %{{.*}} ratio %{{.*}} apply %{{.*}} : tensor<16x4xf32>
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [0, 1], [], [], [] -> [0, 1]; 4 flops per point, zero-preserving}}
  %p = graph.descend %w, %d#0 lr %s ratio %ratio apply %s : tensor<16x4xf32>
  // CHECK: graph.lars %{{.*}}, %{{.*}}, %{{.*}} lr %{{.*}} grad_scale %{{.*}} ratio %{{.*}} apply %{{.*}} {momentum = 9.000000e-01 : f64
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [0, 1], [0, 1], [], [], [], [] -> [0, 1], [0, 1]; 8 flops per point, zero-preserving}}
  %l:2 = graph.lars %w, %g, %m lr %s grad_scale %s ratio %ratio apply %s {momentum = 0.9, weight_decay = 0.0} : tensor<16x4xf32>
  // CHECK: graph.whole_matrix %{{.*}} : tensor<16x4xf32>
  // expected-remark @+1 {{loops 0:16 whole, 1:4 whole; [0, 1] -> [0, 1]; 0 flops per point, view, zero-preserving}}
  %whole = graph.whole_matrix %w : tensor<16x4xf32>
  graph.return
}

// CHECK-LABEL: graph.func @experts
graph.func @experts(%w: tensor<8x16x4xbf16>) {
  // CHECK: graph.whole_matrix %{{.*}} batch 1 : tensor<8x16x4xbf16>
  // expected-remark @+1 {{loops 0:8 parallel, 1:16 whole, 2:4 whole; [0, 1, 2] -> [0, 1, 2]; 0 flops per point, view, zero-preserving}}
  %whole = graph.whole_matrix %w batch 1 : tensor<8x16x4xbf16>
  graph.return
}
