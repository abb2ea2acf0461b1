// Optimizer state in few bits: assembly and loops; every dim splits but that within a block.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK: graph.state @w.exp_avg of @w : tensor<8x256xi8>
// CHECK: graph.state @w.exp_avg_largest of @w : tensor<8x2xf32> {graph.block = 128 : i64}
graph.parameter @w : tensor<8x256xf32> init zeros
graph.state @w.exp_avg of @w : tensor<8x256xi8>
graph.state @w.exp_avg_largest of @w : tensor<8x2xf32> {graph.block = 128 : i64}

// CHECK-LABEL: graph.func @update
graph.func @update(%m: tensor<16x4xf32>, %v: tensor<16x4xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // CHECK: graph.round_randomly %{{.*}}, %{{.*}} id 32769 key(%{{.*}}, %{{.*}}) : tensor<16x4xf32>, tensor<16x4xf32> to tensor<16x4xbf16>, tensor<16x4xbf16>
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [0, 1], [], [] -> [0, 1], [0, 1]; 60 flops per point, zero-preserving; indexed 0, 1}}
  %a, %b = graph.round_randomly %m, %v id 32769 key(%seed, %step) : tensor<16x4xf32>, tensor<16x4xf32> to tensor<16x4xbf16>, tensor<16x4xbf16>
  // CHECK: graph.round_randomly %{{.*}} id 1 key(%{{.*}}, %{{.*}}) : tensor<16x4xf32> to tensor<16x4xbf16>
  // expected-remark @+1 {{loops 0:16 parallel, 1:4 parallel; [0, 1], [], [] -> [0, 1]; 60 flops per point, zero-preserving; indexed 0, 1}}
  %c = graph.round_randomly %m id 1 key(%seed, %step) : tensor<16x4xf32> to tensor<16x4xbf16>
  graph.return
}

// CHECK-LABEL: graph.func @codes
graph.func @codes(%m: tensor<8x2x128xf32>, %l: tensor<8x2x1xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // CHECK: graph.encode_moments %{{.*}}, %{{.*}} largest %{{.*}}, %{{.*}} id 7 key(%{{.*}}, %{{.*}}) : tensor<8x2x128xf32>, tensor<8x2x1xf32> to tensor<8x2x128xi8>
  // expected-remark @+1 {{loops 0:8 parallel, 1:2 parallel, 2:128 parallel; [0, 1, 2], [0, 1, 2], [0, 1, -], [0, 1, -], [], [] -> [0, 1, 2], [0, 1, 2]; 80 flops per point, zero-preserving; indexed 0, 1, 2}}
  %c, %d = graph.encode_moments %m, %m largest %l, %l id 7 key(%seed, %step) : tensor<8x2x128xf32>, tensor<8x2x1xf32> to tensor<8x2x128xi8>
  // CHECK: graph.decode_moments %{{.*}}, %{{.*}} largest %{{.*}}, %{{.*}} : tensor<8x2x128xi8>, tensor<8x2x1xf32> to tensor<8x2x128xf32>
  // expected-remark @+1 {{loops 0:8 parallel, 1:2 parallel, 2:128 parallel; [0, 1, 2], [0, 1, 2], [0, 1, -], [0, 1, -] -> [0, 1, 2], [0, 1, 2]; 6 flops per point, zero-preserving}}
  %x, %y = graph.decode_moments %c, %d largest %l, %l : tensor<8x2x128xi8>, tensor<8x2x1xf32> to tensor<8x2x128xf32>
  graph.return
}
