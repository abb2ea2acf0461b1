// The ops of a mixture of experts: what they look like and which loops they have.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// 128 tokens in 2 groups: groups split, tokens of a group do not. In one group there is nothing to split.
// CHECK-LABEL: graph.func @router
graph.func @router(%l: tensor<?x128x8xf32>, %dw: tensor<?x128x2xf32>, %di: tensor<?x8xf32>) {
  // CHECK: graph.moe_router %{{.*}} top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:2 sum, 2:64 whole, 3:8 whole, 4:2 whole; [0, 1*2, 3] -> [0, 1*2, 4], [0, 1*2, 4], [0, 1*2, 4], [0, 3], [0, 3]; 8 flops per point; sequence 1, 2}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK: graph.moe_router %{{.*}} top 1 group 128 :
  // expected-remark @+1 {{loops 0:? parallel, 1:128 whole, 2:8 whole, 3:1 whole; [0, 1, 2] -> [0, 1, 3], [0, 1, 3], [0, 1, 3], [0, 2], [0, 2]; 14 flops per point; sequence 1}}
  %1:5 = graph.moe_router %l top 1 group 128 : (tensor<?x128x8xf32>) -> (tensor<?x128x1xf32>, tensor<?x128x1xi32>, tensor<?x128x1xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK: graph.moe_router_grad %{{.*}}, %{{.*}} normalised weights(%{{.*}}) importance(%{{.*}}) :
  // expected-remark @+1 {{loops 0:? parallel, 1:128 parallel, 2:8 whole, 3:2 whole; [0, 1, 2], [0, 1, 3], [0, 1, 3], [0, 2] -> [0, 1, 2]; 10 flops per point; sequence 1}}
  %2 = graph.moe_router_grad %l, %e normalised weights(%dw) importance(%di) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
  // CHECK: graph.moe_router_grad %{{.*}}, %{{[^ ]*}} importance(%{{[^ ]*}}) :
  // expected-remark @+1 {{[0, 1, 2], [0, 1, 3], [0, 2] -> [0, 1, 2]}}
  %3 = graph.moe_router_grad %l, %e importance(%di) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
  // CHECK: graph.moe_balance_loss %{{.*}}, %{{.*}} tokens 128 coefficient 2.000000e-02 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 sum; [0, 1], [0, 1] -> [0]; 2 flops per point, zero-preserving}}
  %4 = graph.moe_balance_loss %load, %i tokens 128 coefficient 0.02 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?xf32>
  graph.return
}

// Experts (loop 0) split the rows, batch and groups both sides; a sequence of one group splits into partial sums.
// CHECK-LABEL: graph.func @move
graph.func @move(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // CHECK: %[[ROWS:.*]] = graph.moe_dispatch %{{.*}} to %{{.*}} at %{{[^ ]*}} group 64 capacity 1.250000e+00 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>) -> tensor<8x?x40x16xf32>
  // expected-remark @+1 {{loops 0:8 parallel, 1:? parallel, 2:2 parallel, 3:64 sum, 4:2 whole, 5:20 whole, 6:16 parallel; [1, 2*3, 6], [1, 2*3, 4], [1, 2*3, 4] -> [0, 1, 2*5, 6]; 0 flops per point, exchange, zero-preserving; indexed 0; experts 0; capacity 5; sequence 2, 3; channels 6}}
  %r = graph.moe_dispatch %x to %e at %e group 64 capacity 1.25 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>) -> tensor<8x?x40x16xf32>
  // CHECK: graph.moe_dispatch %{{.*}} to %{{.*}} at %{{.*}} weighted %{{.*}} group 128 capacity 1.000000e+00 :
  // expected-remark @+1 {{loops 0:8 parallel, 1:? parallel, 2:128 sum, 3:2 whole, 4:32 whole, 5:16 parallel; [1, 2, 5], [1, 2, 3], [1, 2, 3], [1, 2, 3] -> [0, 1, 4, 5]; 0 flops per point, exchange, zero-preserving; indexed 0; experts 0; capacity 4; sequence 2; channels 5}}
  %1 = graph.moe_dispatch %x to %e at %e weighted %w group 128 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  // CHECK: graph.moe_combine %[[ROWS]] from %{{.*}} at %{{.*}} weighted %{{.*}} group 64 capacity 1.250000e+00 : (tensor<8x?x40x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
  // expected-remark @+1 {{loops 0:8 sum, 1:? parallel, 2:2 parallel, 3:64 parallel, 4:2 whole, 5:20 whole, 6:16 parallel; [0, 1, 2*5, 6], [1, 2*3, 4], [1, 2*3, 4], [1, 2*3, 4] -> [1, 2*3, 6]; 0 flops per point, exchange, zero-preserving; indexed 0; fed 1, 2, 3; experts 0; capacity 5; sequence 2, 3; channels 6}}
  %2 = graph.moe_combine %r from %e at %e weighted %w group 64 capacity 1.25 : (tensor<8x?x40x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
  // CHECK: graph.moe_weight_grad %[[ROWS]] from %{{.*}} at %{{.*}}, %{{.*}} group 64 capacity 1.250000e+00 :
  // expected-remark @+1 {{loops 0:8 sum, 1:? parallel, 2:2 parallel, 3:64 parallel, 4:2 whole, 5:20 whole, 6:16 sum; [0, 1, 2*5, 6], [1, 2*3, 4], [1, 2*3, 4], [1, 2*3, 6] -> [1, 2*3, 4]; 0 flops per point, zero-preserving; indexed 0; experts 0; sequence 2, 3; channels 6}}
  %3 = graph.moe_weight_grad %r from %e at %e, %x group 64 capacity 1.25 : (tensor<8x?x40x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x16xf32>) -> tensor<?x128x2xf32>
  graph.return
}

// One rank's two of eight experts: the capacity is that of all eight.
// CHECK-LABEL: graph.func @part
graph.func @part(%x: tensor<4x128x16xf32>, %e: tensor<4x128x2xi32>) {
  // CHECK: {windows = [#graph.window<loop = 0, local = 2, global = 8, axes = [1]>]} : {{.*}} -> tensor<2x4x32x16xf32>
  // expected-remark @+1 {{loops 0:2 parallel}}
  %r = graph.moe_dispatch %x to %e at %e group 64 capacity 1.0 {windows = [#graph.window<loop = 0, local = 2, global = 8, axes = [1]>]} : (tensor<4x128x16xf32>, tensor<4x128x2xi32>, tensor<4x128x2xi32>) -> tensor<2x4x32x16xf32>
  graph.return
}

// Capacity is rounded up, never below one row, and not up by rounding of the factor.
// CHECK-LABEL: graph.func @capacity
graph.func @capacity(%x: tensor<1x10x4xf32>, %e: tensor<1x10x2xi32>) {
  // expected-remark @+1 {{5:11 whole}}
  %0 = graph.moe_dispatch %x to %e at %e group 5 capacity 2.2 : (tensor<1x10x4xf32>, tensor<1x10x2xi32>, tensor<1x10x2xi32>) -> tensor<2x1x22x4xf32>
  // expected-remark @+1 {{5:1 whole}}
  %1 = graph.moe_dispatch %x to %e at %e group 5 capacity 0.01 : (tensor<1x10x4xf32>, tensor<1x10x2xi32>, tensor<1x10x2xi32>) -> tensor<2x1x2x4xf32>
  // expected-remark @+1 {{5:4 whole}}
  %2 = graph.moe_dispatch %x to %e at %e group 5 capacity 1.0 : (tensor<1x10x4xf32>, tensor<1x10x2xi32>, tensor<1x10x2xi32>) -> tensor<3x1x8x4xf32>
  graph.return
}

// CHECK-LABEL: graph.func @products
graph.func @products(%x: tensor<8x?x40x16xbf16>, %w: tensor<8x48x16xbf16>, %v: tensor<8x16x48xbf16>) {
  // CHECK: graph.expert_linear %{{.*}}, %{{.*}} transposed fill 8.000000e-01 :
  // expected-remark @+1 {{loops 0:8 parallel, 1:? parallel, 2:40 parallel, 3:48 parallel, 4:16 sum; [0, 1, 2, 4], [0, 3, 4] -> [0, 1, 2, 3]; 2 flops per point, product of batch 0 m 1 2 n 3 k 4, zero-preserving; experts 0; channels 4, 3}}
  %y = graph.expert_linear %x, %w transposed fill 0.8 : (tensor<8x?x40x16xbf16>, tensor<8x48x16xbf16>) -> tensor<8x?x40x48xbf16>
  // CHECK: graph.expert_linear %{{.*}}, %{{[^ ]*}} : {{.*}} -> tensor<8x?x40x48xf32>
  // expected-remark @+1 {{[0, 1, 2, 4], [0, 4, 3] -> [0, 1, 2, 3]}}
  %1 = graph.expert_linear %x, %v : (tensor<8x?x40x16xbf16>, tensor<8x16x48xbf16>) -> tensor<8x?x40x48xf32>
  // CHECK: graph.expert_linear_weight_grad %{{.*}}, %{{.*}} transposed fill 8.000000e-01 :
  // expected-remark @+1 {{loops 0:8 parallel, 1:? sum, 2:40 sum, 3:16 parallel, 4:48 parallel; [0, 1, 2, 3], [0, 1, 2, 4] -> [0, 4, 3]; 2 flops per point, product of batch 0 m 3 n 4 k 1 2, gradient, zero-preserving; experts 0; channels 3, 4}}
  %2 = graph.expert_linear_weight_grad %x, %y transposed fill 0.8 : (tensor<8x?x40x16xbf16>, tensor<8x?x40x48xbf16>) -> tensor<8x48x16xbf16>
  // CHECK: graph.expert_linear_weight_grad %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{[0, 1, 2, 3], [0, 1, 2, 4] -> [0, 3, 4]}}
  %3 = graph.expert_linear_weight_grad %x, %y : (tensor<8x?x40x16xbf16>, tensor<8x?x40x48xbf16>) -> tensor<8x16x48xbf16>
  graph.return
}

// A window of 4 of 8 keys: 4 * (1 - (1/2)^2) flops per pair.
// CHECK-LABEL: graph.func @sliding
graph.func @sliding(%q: tensor<?x8x4x16xf32>, %lse: tensor<?x4x8xf32>) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} causal sliding 4 scale
  // expected-remark @+1 {{3 flops per point, attention of}}
  %0, %lse0 = graph.attention %q, %q, %q causal sliding 4 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  // CHECK: graph.attention_grad {{.*}} causal sliding 9 scale
  // expected-remark @+1 {{8 flops per point, attention of}}
  %dq, %dk, %dv = graph.attention_grad %q, %q, %q, %q, %lse, %q causal sliding 9 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>)
  graph.return
}
