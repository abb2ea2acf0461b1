// Backward ops: assembly, and the sums that data parallelism leaves partial.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @weights
graph.func @weights(%x: tensor<?x8x16xf32>, %dy: tensor<?x8x3x4xf32>, %ids: tensor<?x8xi32>) {
  // CHECK: graph.linear_weight_grad %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? sum, 1:8 sum, 2:16 parallel, 3:3 parallel, 4:4 parallel; [0, 1, 2], [0, 1, 3, 4] -> [2, 3, 4]; 2 flops per point, product of m 2 n 3 4 k 0 1, gradient, zero-preserving; channels 2, 3, 4}}
  %0 = graph.linear_weight_grad %x, %dy : (tensor<?x8x16xf32>, tensor<?x8x3x4xf32>) -> tensor<16x3x4xf32>
  // CHECK: graph.linear_weight_grad %{{.*}}, %{{.*}} contract 2 transposed :
  // expected-remark @+1 {{loops 0:? sum, 1:8 sum, 2:3 parallel, 3:4 parallel, 4:16 parallel; [0, 1, 2, 3], [0, 1, 4] -> [4, 2, 3]; 2 flops per point, product of m 2 3 n 4 k 0 1, gradient, zero-preserving; channels 2, 3, 4}}
  %1 = graph.linear_weight_grad %dy, %x contract 2 transposed : (tensor<?x8x3x4xf32>, tensor<?x8x16xf32>) -> tensor<16x3x4xf32>
  // CHECK: graph.embedding_grad %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? sum, 1:8 sum, 2:16 parallel, 3:256 parallel; [0, 1], [0, 1, 2] -> [3, 2]; 1 flops per point, gradient, zero-preserving; indexed 3; sequence 1; channels 2}}
  %2 = graph.embedding_grad %ids, %x : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf32>
  // CHECK: graph.embedding_grad %{{.*}}, %{{[^ ]*}} padding 255 :
  // expected-remark @+1 {{indexed 3; sequence 1; channels 2}}
  %3 = graph.embedding_grad %ids, %x padding 255 : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @norms
graph.func @norms(%x: tensor<?x16xf32>, %w: tensor<16xf32>, %s: tensor<?xf32>) {
  // CHECK: graph.layer_norm_grad
  // expected-remark @+1 {{loops 0:? parallel, 1:16 staged; [0, 1], [1], [0], [0], [0, 1] -> [0, 1]; 11 flops per point, normalisation, gradient, zero-preserving; fed 1; channels 1}}
  %0 = graph.layer_norm_grad %x, %w, %s, %s, %x : (tensor<?x16xf32>, tensor<16xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: graph.layer_norm_param_grad
  // expected-remark @+1 {{loops 0:? sum, 1:16 parallel; [0, 1], [0], [0], [0, 1] -> [1], [1]; 5 flops per point, normalisation, gradient, zero-preserving; channels 1}}
  %dw, %db = graph.layer_norm_param_grad %x, %s, %s, %x : (tensor<?x16xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  // CHECK: graph.rms_norm_grad
  // expected-remark @+1 {{loops 0:? parallel, 1:16 staged; [0, 1], [1], [0], [0, 1] -> [0, 1]; 8 flops per point, normalisation, gradient, composite, zero-preserving; channels 1}}
  %1 = graph.rms_norm_grad %x, %w, %s, %x : (tensor<?x16xf32>, tensor<16xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  // CHECK: graph.rms_norm_param_grad
  // expected-remark @+1 {{loops 0:? sum, 1:16 parallel; [0, 1], [0], [0, 1] -> [1]; 3 flops per point, normalisation, gradient, composite, zero-preserving; channels 1}}
  %2 = graph.rms_norm_param_grad %x, %s, %x : (tensor<?x16xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @attention
graph.func @attention(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %lse: tensor<?x4x8xf32>, %seed: tensor<i64>, %step: tensor<f32>,
    %bias: tensor<1x4x8x8xf32>) {
  // CHECK: graph.attention_grad {{.*}} causal scale 2.500000e-01 :
  // expected-remark @+1 {{loops 0:? parallel, 1:2 parallel, 2:2 sum, 3:8 sum, 4:8 whole, 5:16 whole; [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [0, 3, 1*2, 5], [0, 1*2, 3], [0, 3, 1*2, 5] -> [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5]; 8 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, gradient, causal, zero-preserving; fed 2; sequence 3, 4; channels 1, 2, 5}}
  %0:3 = graph.attention_grad %q, %k, %k, %q, %lse, %q causal scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>)
  // CHECK: graph.attention_grad {{.*}} scale 2.500000e-01 dropout 1.000000e-01 id 7 key(%{{.*}}, %{{.*}}) :
  // expected-remark @+1 {{loops 0:? parallel, 1:2 parallel, 2:2 sum, 3:8 sum, 4:8 whole, 5:16 whole; [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [0, 3, 1*2, 5], [0, 1*2, 3], [0, 3, 1*2, 5], [], [] -> [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5]; 8 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, gradient, zero-preserving; indexed 0, 1, 2; fed 2; sequence 3, 4; channels 1, 2, 5}}
  %1:3 = graph.attention_grad %q, %k, %k, %q, %lse, %q scale 0.25 dropout 0.1 id 7 key(%seed, %step) : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>, tensor<i64>, tensor<f32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>)
  // What shares its bias is summed: here samples, and not heads.
  // expected-remark @+1 {{loops 0:? sum, 1:2 parallel, 2:2 sum, 3:8 sum, 4:8 whole, 5:16 whole; [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [0, 3, 1*2, 5], [0, 1*2, 3], [0, 3, 1*2, 5], [-, 1*2, 3, 4] -> [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [-, 1*2, 3, 4]; 8 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, gradient, zero-preserving; fed 2; sequence 3, 4; channels 1, 2, 5}}
  %2:4 = graph.attention_grad %q, %k, %k, %q, %lse, %q bias %bias scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>, tensor<1x4x8x8xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<1x4x8x8xf32>)
  graph.return
}

// CHECK-LABEL: graph.func @rest
graph.func @rest(%x: tensor<?x8x16xf32>, %t: tensor<?x8xi32>, %l: tensor<?x8xf32>, %b: tensor<16xf32>) {
  // CHECK: graph.cross_entropy_grad
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [0, 1], [0, 1], [0, 1] -> [0, 1, 2]; 13 flops per point, loss, gradient, zero-preserving; indexed 2}}
  %0 = graph.cross_entropy_grad %x, %t, %l, %l : (tensor<?x8x16xf32>, tensor<?x8xi32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8x16xf32>
  // CHECK: graph.softmax_grad %{{.*}}, %{{.*}} : tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 staged; [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 4 flops per point, gradient, zero-preserving}}
  %1 = graph.softmax_grad %x, %x : tensor<?x8x16xf32>
  // CHECK: graph.gelu_grad erf %{{.*}}, %{{.*}} : tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 30 flops per point, zero-preserving}}
  %2 = graph.gelu_grad erf %x, %x : tensor<?x8x16xf32>
  // CHECK: graph.silu_grad %{{.*}}, %{{.*}} : tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 18 flops per point, zero-preserving}}
  %3 = graph.silu_grad %x, %x : tensor<?x8x16xf32>
  // CHECK: graph.select_equal %{{.*}}, %{{.*}}, %{{.*}} : (tensor<16xf32>, tensor<?x8x16xf32>, tensor<?x8x16xf32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [2], [0, 1, 2], [0, 1, 2] -> [0, 1, 2]; 1 flops per point, zero-preserving}}
  %4 = graph.select_equal %b, %x, %x : (tensor<16xf32>, tensor<?x8x16xf32>, tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
  graph.return
}
