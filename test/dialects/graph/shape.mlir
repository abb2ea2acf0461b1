// Ops that move elements, and reductions: assembly and loops.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// Splitting a reduced dim leaves a partial result, but for a mean, whose count is global.
// CHECK-LABEL: graph.func @reduce
graph.func @reduce(%x: tensor<?x8x4xf32>) {
  // CHECK: graph.reduce sum %{{.*}} dims [0, 1] scale 5.000000e-01 : tensor<?x8x4xf32> -> tensor<4xf32>
  // expected-remark @+1 {{loops 0:? sum, 1:8 sum, 2:4 parallel; [0, 1, 2] -> [2]; 1 flops per point, zero-preserving, linear}}
  %0 = graph.reduce sum %x dims [0, 1] scale 0.5 : tensor<?x8x4xf32> -> tensor<4xf32>
  // CHECK: graph.reduce max %{{.*}} dims [2] : tensor<?x8x4xf32> -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:4 max; [0, 1, 2] -> [0, 1]; 1 flops per point, zero-preserving; indexed 2}}
  %1 = graph.reduce max %x dims [2] : tensor<?x8x4xf32> -> tensor<?x8xf32>
  // CHECK: graph.reduce mean %{{.*}} dims [0, 1, 2] : tensor<?x8x4xf32> -> tensor<f32>
  // expected-remark @+1 {{loops 0:? mean, 1:8 mean, 2:4 mean; [0, 1, 2] -> []; 1 flops per point, zero-preserving}}
  %2 = graph.reduce mean %x dims [0, 1, 2] : tensor<?x8x4xf32> -> tensor<f32>
  graph.return
}

// CHECK-LABEL: graph.func @cumsum
graph.func @cumsum(%x: tensor<?x8x4xf32>) {
  // CHECK: graph.cumsum %{{.*}} dim 1 : tensor<?x8x4xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 whole, 2:4 parallel; [0, 1, 2] -> [0, 1, 2]; 1 flops per point, zero-preserving, linear}}
  %0 = graph.cumsum %x dim 1 : tensor<?x8x4xf32>
  // CHECK: graph.cumsum %{{.*}} dim 2 reverse : tensor<?x8x4xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:4 whole; [0, 1, 2] -> [0, 1, 2]; 1 flops per point, zero-preserving, linear}}
  %1 = graph.cumsum %x dim 2 reverse : tensor<?x8x4xf32>
  graph.return
}

// CHECK-LABEL: graph.func @broadcast
graph.func @broadcast(%x: tensor<4xf32>, %y: tensor<4x1xf32>, %s: tensor<f32>, %t: tensor<?x8xi32>) {
  // CHECK: graph.broadcast %{{.*}} dims [1] : tensor<4xf32> -> tensor<4x8xf32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel; [0] -> [0, 1]; 0 flops per point, zero-preserving, linear; fed 1}}
  %0 = graph.broadcast %x dims [1] : tensor<4xf32> -> tensor<4x8xf32>
  // CHECK: graph.broadcast %{{.*}} dims [1] : tensor<4x1xf32> -> tensor<4x8xf32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel; [0, -] -> [0, 1]; 0 flops per point, zero-preserving, linear; fed 1}}
  %1 = graph.broadcast %y dims [1] : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK: graph.broadcast %{{.*}} like %{{.*}} : tensor<?x8xi32>, dims [0, 1] : tensor<f32> -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [], [0, -] -> [0, 1]; 0 flops per point, zero-preserving, linear; fed 0, 1}}
  %2 = graph.broadcast %s like %t : tensor<?x8xi32>, dims [0, 1] : tensor<f32> -> tensor<?x8xf32>
  graph.return
}

// Dims that factor share loops, also through the batch; what does not factor is whole.
// CHECK-LABEL: graph.func @reshape
graph.func @reshape(%x: tensor<?x4x6xf32>, %y: tensor<6x4xf32>, %z: tensor<2x1x6xf32>, %w: tensor<24xf32>) {
  // CHECK: graph.reshape %{{.*}} : tensor<?x4x6xf32> -> tensor<?x24xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:4 parallel, 2:6 parallel; [0, 1, 2] -> [0, 1*2]; 0 flops per point, view, zero-preserving, linear}}
  %0 = graph.reshape %x : tensor<?x4x6xf32> -> tensor<?x24xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:4 parallel, 2:6 parallel; [0, 1, 2] -> [0*1, 2]; 0 flops per point, view, zero-preserving, linear}}
  %1 = graph.reshape %x : tensor<?x4x6xf32> -> tensor<?x6xf32>
  // expected-remark @+1 {{loops 0:6 whole, 1:4 whole, 2:6 whole, 3:4 whole; [0, 3] -> [1, 2]; 0 flops per point, view, zero-preserving, linear}}
  %2 = graph.reshape %y : tensor<6x4xf32> -> tensor<4x6xf32>
  // expected-remark @+1 {{loops 0:2 parallel, 1:2 parallel, 2:3 parallel; [0, -, 1*2] -> [0*1, 2]; 0 flops per point, view, zero-preserving, linear}}
  %3 = graph.reshape %z : tensor<2x1x6xf32> -> tensor<4x3xf32>
  // expected-remark @+1 {{loops 0:1 parallel, 1:4 parallel, 2:6 parallel; [0*1*2] -> [0, 1, 2]; 0 flops per point, view, zero-preserving, linear}}
  %4 = graph.reshape %w : tensor<24xf32> -> tensor<1x4x6xf32>
  // The loops of a batch of one have the numbers of any other: those of %0.
  // expected-remark @+1 {{loops 0:1 parallel, 1:4 parallel, 2:6 parallel; [0, 1, 2] -> [0, 1*2]; 0 flops per point, view, zero-preserving, linear}}
  %5 = graph.reshape %4 : tensor<1x4x6xf32> -> tensor<1x24xf32>
  graph.return
}

// CHECK-LABEL: graph.func @move
graph.func @move(%x: tensor<?x8x3xf32>, %y: tensor<?x5xf32>, %z: tensor<?x3xf32>) {
  // CHECK: graph.transpose %{{.*}} by [0, 2, 1] : tensor<?x8x3xf32> -> tensor<?x3x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:3 parallel; [0, 1, 2] -> [0, 2, 1]; 0 flops per point, zero-preserving, linear}}
  %0 = graph.transpose %x by [0, 2, 1] : tensor<?x8x3xf32> -> tensor<?x3x8xf32>
  // CHECK: graph.slice %{{.*}} dim 2 start 1 size 1 squeeze : tensor<?x8x3xf32> -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:3 whole; [0, 1, 2] -> [0, 1]; 0 flops per point, zero-preserving, linear}}
  %1 = graph.slice %x dim 2 start 1 size 1 squeeze : tensor<?x8x3xf32> -> tensor<?x8xf32>
  // CHECK: graph.slice %{{.*}} dim 1 start 0 size 4 : tensor<?x8x3xf32> -> tensor<?x4x3xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 whole, 2:3 parallel, 3:4 whole; [0, 1, 2] -> [0, 3, 2]; 0 flops per point, zero-preserving, linear}}
  %2 = graph.slice %x dim 1 start 0 size 4 : tensor<?x8x3xf32> -> tensor<?x4x3xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel, 2:3 parallel; [0, 1, 2] -> [0, 1, 2]; 0 flops per point, zero-preserving, linear}}
  %3 = graph.slice %x dim 1 start 0 size 8 : tensor<?x8x3xf32> -> tensor<?x8x3xf32>
  // CHECK: graph.pad %{{.*}} dim 1 low 0 high 3 : tensor<?x5xf32> -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:5 whole, 2:8 whole; [0, 1] -> [0, 2]; 0 flops per point, zero-preserving, linear}}
  %4 = graph.pad %y dim 1 low 0 high 3 : tensor<?x5xf32> -> tensor<?x8xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} dim 1 : (tensor<?x3xf32>, tensor<?x5xf32>) -> tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 whole, 2:3 whole, 3:5 whole; [0, 2], [0, 3] -> [0, 1]; 0 flops per point, zero-preserving, linear}}
  %5 = graph.concat %z, %y dim 1 : (tensor<?x3xf32>, tensor<?x5xf32>) -> tensor<?x8xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} dim 1 stack : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x2x3xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:2 whole, 2:3 parallel; [0, 2], [0, 2] -> [0, 1, 2]; 0 flops per point, zero-preserving, linear}}
  %6 = graph.concat %z, %z dim 1 stack : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x2x3xf32>
  graph.return
}
