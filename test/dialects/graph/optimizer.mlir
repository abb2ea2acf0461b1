// Optimizer ops: assembly and loops; a parameter's update splits in any way.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @update
graph.func @update(%w: tensor<16x4xf32>, %g: tensor<16x4xf32>, %m: tensor<16x4xf32>, %v: tensor<16x4xf32>) {
  %step = graph.input step : tensor<f32>
  %base = graph.input base_lr : tensor<f32>
  %total = graph.input total_steps : tensor<f32>
  // CHECK: graph.sum_squares %{{.*}} : tensor<16x4xf32>
  // expected-remark @+1 {{loops 0:16 sum, 1:4 sum; [0, 1] -> []; 2 flops per point, zero-preserving}}
  %norm = graph.sum_squares %g : tensor<16x4xf32>
  // CHECK: graph.clip_scale %{{.*}} max 1.000000e+00
  // expected-remark @+1 {{loops; [] -> []; 3 flops per point}}
  %clip = graph.clip_scale %norm max 1.0
  // CHECK: graph.is_finite %{{.*}}
  // expected-remark @+1 {{loops; [] -> []; 2 flops per point}}
  %apply = graph.is_finite %norm
  // CHECK: graph.next_loss_scale %{{.*}}, %{{.*}} apply %{{.*}} growth_interval 2000 largest 8.000000e+00
  // expected-remark @+1 {{loops; [], [], [] -> [], []; 8 flops per point}}
  %scale:2 = graph.next_loss_scale %norm, %step apply %apply growth_interval 2000 largest 8.0
  // CHECK: graph.inverse_or_zero %{{.*}}
  // expected-remark @+1 {{loops; [] -> []; 2 flops per point, zero-preserving}}
  %inverse = graph.inverse_or_zero %norm
  // CHECK: graph.learning_rate cosine(%{{.*}}, %{{.*}}, %{{.*}}) warmup 10 min_ratio 1.000000e-01
  // expected-remark @+1 {{loops; [], [], [] -> []; 20 flops per point}}
  %lr = graph.learning_rate cosine(%step, %base, %total) warmup 10 min_ratio 0.1
  // CHECK: graph.learning_rate constant(%{{.*}}, %{{.*}}, %{{.*}}) warmup 0 min_ratio 0.000000e+00
  // expected-remark @+1 {{loops; [], [], [] -> []; 20 flops per point}}
  %lr1 = graph.learning_rate constant(%step, %base, %total) warmup 0 min_ratio 0.0
  // CHECK: graph.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} lr %{{.*}} step %{{.*}} grad_scale %{{.*}} apply %{{.*}} {beta1 = 9.000000e-01 : f64
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [0, 1], [0, 1], [0, 1], [], [], [], [] -> [0, 1], [0, 1], [0, 1]; 18 flops per point, zero-preserving}}
  %p:3 = graph.adamw %w, %g, %m, %v lr %lr step %step grad_scale %clip apply %clip {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<16x4xf32>
  // CHECK: graph.sgd %{{.*}}, %{{.*}}, %{{.*}} lr %{{.*}} grad_scale %{{.*}} apply %{{.*}} {momentum = 9.000000e-01 : f64
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [0, 1], [0, 1], [], [], [] -> [0, 1], [0, 1]; 6 flops per point, zero-preserving}}
  %s:2 = graph.sgd %w, %g, %m lr %lr grad_scale %clip apply %clip {momentum = 0.9, weight_decay = 0.0} : tensor<16x4xf32>
  graph.return
}
