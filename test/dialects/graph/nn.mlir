// The layers: assembly, and the loops that each says it has.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @linear
graph.func @linear(%x: tensor<?x8x16xf32>, %w: tensor<16x3x2x8xf32>, %a: tensor<?x8x2x8xf32>,
                   %o: tensor<16x2x8xf32>) {
  // CHECK: graph.linear %{{.*}}, %{{.*}} : (tensor<?x8x16xf32>, tensor<16x3x2x8xf32>) -> tensor<?x8x3x2x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:3 parallel, 3:2 parallel, 4:8 parallel, 5:16 sum; [0, 1, 5], [5, 2, 3, 4] -> [0, 1, 2, 3, 4]; 2 flops per point, product of m 0 1 n 2 3 4 k 5, zero-preserving; channels 5, 2, 3, 4}}
  %0 = graph.linear %x, %w : (tensor<?x8x16xf32>, tensor<16x3x2x8xf32>) -> tensor<?x8x3x2x8xf32>
  // CHECK: graph.linear %{{.*}}, %{{.*}} contract 2 transposed : (
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel, 3:2 sum, 4:8 sum; [0, 1, 3, 4], [2, 3, 4] -> [0, 1, 2]; 2 flops per point, product of m 0 1 n 2 k 3 4, zero-preserving; channels 3, 4, 2}}
  %1 = graph.linear %a, %o contract 2 transposed : (tensor<?x8x2x8xf32>, tensor<16x2x8xf32>) -> tensor<?x8x16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @matmul
graph.func @matmul(%a: tensor<?x4x8xf32>, %at: tensor<?x8x4xf32>, %b: tensor<?x8x6xf32>, %bt: tensor<?x6x8xf32>) {
  // CHECK: graph.matmul %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:4 parallel, 2:6 parallel, 3:8 sum; [0, 1, 3], [0, 3, 2] -> [0, 1, 2]; 2 flops per point, product of batch 0 m 1 n 2 k 3, zero-preserving}}
  %0 = graph.matmul %a, %b : (tensor<?x4x8xf32>, tensor<?x8x6xf32>) -> tensor<?x4x6xf32>
  // CHECK: graph.matmul %{{[^ ]*}} transposed, %{{[^ ]*}} transposed :
  // expected-remark @+1 {{loops 0:? parallel, 1:4 parallel, 2:6 parallel, 3:8 sum; [0, 3, 1], [0, 2, 3] -> [0, 1, 2]; 2 flops per point, product of batch 0 m 1 n 2 k 3, zero-preserving}}
  %1 = graph.matmul %at transposed, %bt transposed : (tensor<?x8x4xf32>, tensor<?x6x8xf32>) -> tensor<?x4x6xf32>
  graph.return
}

// Rows of the table are indexed: a rank that has some of them looks up those only.
// CHECK-LABEL: graph.func @embedding
graph.func @embedding(%t: tensor<256x16xf32>, %part: tensor<128x16xf32>, %ids: tensor<?x8xi32>) {
  // CHECK: graph.embedding %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel, 3:256 sum; [3, 2], [0, 1] -> [0, 1, 2]; 0 flops per point; indexed 3; sequence 1; channels 2}}
  %0 = graph.embedding %t, %ids : (tensor<256x16xf32>, tensor<?x8xi32>) -> tensor<?x8x16xf32>
  // CHECK: graph.embedding {{.*}} {windows = [#graph.window<loop = 3, local = 128, global = 256, axes = [1]>]}
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel, 3:128 sum; [3, 2], [0, 1] -> [0, 1, 2]; 0 flops per point; indexed 3; sequence 1; channels 2}}
  %1 = graph.embedding %part, %ids {windows = [#graph.window<loop = 3, local = 128, global = 256, axes = [1]>]} : (tensor<128x16xf32>, tensor<?x8xi32>) -> tensor<?x8x16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @norms
graph.func @norms(%x: tensor<?x8x16xf32>, %w: tensor<16xf32>, %b: tensor<16xf32>) {
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 staged; [0, 1, 2], [2], [2] -> [0, 1, 2], [0, 1], [0, 1]; 8 flops per point, normalisation; channels 2}}
  %y, %mean, %rstd = graph.layer_norm %x, %w, %b : (tensor<?x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK: graph.rms_norm %{{.*}}, %{{.*}} epsilon 9.999{{.*}}E-7 :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 staged; [0, 1, 2], [2] -> [0, 1, 2], [0, 1]; 5 flops per point, normalisation, composite, zero-preserving; fed 0, 1; channels 2}}
  %z, %rstd1 = graph.rms_norm %x, %w epsilon 1.0e-6 : (tensor<?x8x16xf32>, tensor<16xf32>) -> (tensor<?x8x16xf32>, tensor<?x8xf32>)
  graph.return
}

// CHECK-LABEL: graph.func @rotary
graph.func @rotary(%q: tensor<?x8x2x4xf32>, %ids: tensor<?x8xi32>) {
  // CHECK: graph.rotary_table [1.000000e+00, 1.000000e-02] : tensor<8x2xf32>, tensor<8x2xf32>
  // expected-remark @+1 {{loops 0:8 parallel, 1:2 whole;  -> [0, 1], [0, 1]; 20 flops per point; indexed 0; sequence 0; channels 1}}
  %cos, %sin = graph.rotary_table [1.0, 0.01] : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: graph.rotary %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:2 parallel, 3:2 whole, 4:2 whole; [0, 1, 2, 3*4], [1, 4], [1, 4] -> [0, 1, 2, 3*4]; 3 flops per point, composite, zero-preserving; sequence 1; channels 2, 3, 4}}
  %0 = graph.rotary %q, %cos, %sin : (tensor<?x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<?x8x2x4xf32>
  // CHECK: graph.rotary %{{.*}}, %{{.*}}, %{{.*}} inverse :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:2 parallel, 3:2 whole, 4:2 whole; [0, 1, 2, 3*4], [1, 4], [1, 4] -> [0, 1, 2, 3*4]; 3 flops per point, composite, zero-preserving; sequence 1; channels 2, 3, 4}}
  %1 = graph.rotary %0, %cos, %sin inverse : (tensor<?x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<?x8x2x4xf32>
  // Angles of each sample.
  // expected-remark @+1 {{loops}}
  %c = graph.embedding %cos, %ids : (tensor<8x2xf32>, tensor<?x8xi32>) -> tensor<?x8x2xf32>
  // expected-remark @+1 {{[0, 1, 2, 3*4], [0, 1, 4], [0, 1, 4] -> [0, 1, 2, 3*4]; 3 flops per point}}
  %2 = graph.rotary %q, %c, %c : (tensor<?x8x2x4xf32>, tensor<?x8x2xf32>, tensor<?x8x2xf32>) -> tensor<?x8x2x4xf32>
  graph.return
}

// Query heads are (kv head, group), so that both split together; with dropout, batch and heads are indexed.
// CHECK-LABEL: graph.func @attention
graph.func @attention(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %seed: tensor<i64>, %step: tensor<f32>,
    %w: tensor<?x8x2x24xf32>, %n: tensor<?xi32>, %b: tensor<1x4x8x8xf32>, %s: tensor<4xf32>,
    %d: tensor<?x8xi32>, %p: tensor<2xi32>, %more: tensor<?x9x4x16xf32>) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale 2.500000e-01 :
  // expected-remark @+1 {{loops 0:? parallel, 1:2 parallel, 2:2 parallel, 3:8 parallel, 4:8 whole, 5:16 whole; [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5] -> [0, 3, 1*2, 5], [0, 1*2, 3]; 4 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, causal, zero-preserving; fed 2; sequence 3, 4; channels 1, 2, 5}}
  %0, %lse0 = graph.attention %q, %k, %k causal scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} scale 2.500000e-01 dropout 1.000000e-01 id 7 key(%{{.*}}, %{{.*}}) :
  // expected-remark @+1 {{loops 0:? parallel, 1:2 parallel, 2:2 parallel, 3:8 parallel, 4:8 whole, 5:16 whole; [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [], [] -> [0, 3, 1*2, 5], [0, 1*2, 3]; 4 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, zero-preserving; indexed 0, 1, 2; fed 2; sequence 3, 4; channels 1, 2, 5}}
  %1, %lse1 = graph.attention %q, %k, %k scale 0.25 dropout 0.1 id 7 key(%seed, %step) : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<i64>, tensor<f32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  // A soft cap changes neither loops nor the flops of the products.
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} causal sliding 4 soft_cap 5.000000e+01 scale 2.500000e-01 :
  // expected-remark @+1 {{3 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, causal, zero-preserving}}
  %2, %lse2 = graph.attention %q, %k, %k causal sliding 4 soft_cap 50.0 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  // Lengths split with the batch, bias and slopes with the heads; values of another head dim have no loop for it.
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} lengths %{{.*}} bias %{{.*}} slopes %{{.*}} causal prefix 4 scale 2.500000e-01 :
  // expected-remark @+1 {{loops 0:? parallel, 1:2 parallel, 2:2 parallel, 3:8 parallel, 4:8 whole, 5:16 whole; [0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, -], [0], [-, 1*2, 3, 4], [1*2] -> [0, 3, 1*2, -], [0, 1*2, 3]; 6.25 flops per point, attention of batch 0 1 2 m 3 n 4 k 5, causal, zero-preserving; fed 2; sequence 3, 4; channels 1, 2, 5}}
  %3, %lse3 = graph.attention %q, %k, %w lengths %n bias %b slopes %s causal prefix 4 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x24xf32>, tensor<?xi32>, tensor<1x4x8x8xf32>, tensor<4xf32>) -> (tensor<?x8x4x24xf32>, tensor<?x4x8xf32>)
  // Sinks split with the heads.
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} sinks %{{.*}} causal scale 2.500000e-01 :
  // expected-remark @+1 {{[0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [1*2] -> [0, 3, 1*2, 5], [0, 1*2, 3]; 4 flops per point}}
  %5, %lse5 = graph.attention %q, %k, %k sinks %s causal scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<4xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  // Documents have the batch and the keys.
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} documents %{{.*}} causal scale 2.500000e-01 :
  // expected-remark @+1 {{[0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [0, 4] -> [0, 3, 1*2, 5], [0, 1*2, 3]; 4 flops per point}}
  %4, %lse4 = graph.attention %q, %k, %k documents %d causal scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8xi32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  // Positions are whole, and queries may be more than keys then; what they hide reduces no flops.
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} starts %{{.*}} causal prefix 9 scale 2.500000e-01 :
  // expected-remark @+1 {{[0, 3, 1*2, 5], [0, 4, 1, 5], [0, 4, 1, 5], [-] -> [0, 3, 1*2, 5], [0, 1*2, 3]}}
  %6, %lse6 = graph.attention %more, %k, %k starts %p causal prefix 9 scale 0.25 : (tensor<?x9x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<2xi32>) -> (tensor<?x9x4x16xf32>, tensor<?x4x9xf32>)
  graph.return
}

// Whole words, then the parts that split over words.
// CHECK-LABEL: graph.func @cross_entropy
graph.func @cross_entropy(%x: tensor<?x8x256xf32>, %t: tensor<?x8xi32>, %max: tensor<?x8xf32>) {
  // CHECK: graph.cross_entropy %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:256 staged; [0, 1, 2], [0, 1] -> [0, 1], [0, 1]; 12 flops per point, loss; indexed 2}}
  %loss, %lse = graph.cross_entropy %x, %t : (tensor<?x8x256xf32>, tensor<?x8xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK: graph.cross_entropy %{{.*}}, %{{[^ ]*}} ignoring -100 :
  // expected-remark @+1 {{12 flops per point}}
  %kept, %lse2 = graph.cross_entropy %x, %t ignoring -100 : (tensor<?x8x256xf32>, tensor<?x8xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK: graph.counted %{{.*}} ignoring -100 : tensor<?x8xi32> to tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 1 flops per point}}
  %counted = graph.counted %t ignoring -100 : tensor<?x8xi32> to tensor<?x8xf32>
  // CHECK: graph.weighted_mean %{{.*}}, %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? weighted, 1:8 weighted; [0, 1], [0, 1] -> []; 3 flops per point}}
  %mean = graph.weighted_mean %kept, %counted : tensor<?x8xf32>
  // CHECK: graph.sum_exp %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:256 sum; [0, 1, 2], [0, 1] -> [0, 1]; 12 flops per point, loss; indexed 2}}
  %1 = graph.sum_exp %x, %max : (tensor<?x8x256xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: graph.pick %{{.*}}, %{{[^ ]*}} :
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:256 sum; [0, 1, 2], [0, 1] -> [0, 1]; 0 flops per point, zero-preserving; indexed 2}}
  %2 = graph.pick %x, %t : (tensor<?x8x256xf32>, tensor<?x8xi32>) -> tensor<?x8xf32>
  graph.return
}

// CHECK-LABEL: graph.func @softmax
graph.func @softmax(%x: tensor<?x8x16xf32>) {
  // CHECK: graph.softmax %{{.*}} : tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 staged; [0, 1, 2] -> [0, 1, 2]; 12 flops per point}}
  %0 = graph.softmax %x : tensor<?x8x16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @dropout
graph.func @dropout(%x: tensor<?x8x16xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // CHECK: graph.dropout %{{.*}} p 1.000000e-01 id 3 key(%{{.*}}, %{{.*}}) : tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [], [] -> [0, 1, 2]; 60 flops per point, zero-preserving; indexed 0, 1, 2}}
  %0 = graph.dropout %x p 0.1 id 3 key(%seed, %step) : tensor<?x8x16xf32>
  // CHECK: graph.dropout {{.*}} {global_shape = array<i64: 8, 8, 16>} : tensor<?x8x16xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:16 parallel; [0, 1, 2], [], [] -> [0, 1, 2]; 60 flops per point, zero-preserving; indexed 0, 1, 2}}
  %1 = graph.dropout %x p 0.1 id 3 key(%seed, %step) {global_shape = array<i64: 8, 8, 16>} : tensor<?x8x16xf32>
  graph.return
}
