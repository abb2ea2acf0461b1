// The ops of a mixture of experts without drops: what they look like and which loops they have.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @router
graph.func @router(%l: tensor<?x128x8xf32>, %b: tensor<8xf32>, %dw: tensor<?x128x2xf32>) {
  // CHECK: graph.route %{{[^ ]*}} top 2 normalised : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:128 parallel, 2:8 whole, 3:2 whole; [0, 1, 2] -> [0, 1, 3], [0, 1, 3]; 8 flops per point; sequence 1}}
  %w, %e = graph.route %l top 2 normalised : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>)
  // CHECK: graph.route %{{.*}} bias %{{.*}} top 2 score "sigmoid" normalised epsilon 9.9{{.*}}E-21 scale 2.500000e+00 groups 4 kept 2 members 2 :
  // expected-remark @+1 {{[0, 1, 2], [2] -> [0, 1, 3], [0, 1, 3]}}
  %1:2 = graph.route %l bias %b top 2 score "sigmoid" normalised epsilon 1.0e-20 scale 2.5 groups 4 kept 2 members 2 : (tensor<?x128x8xf32>, tensor<8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>)
  // CHECK: graph.route_grad %{{.*}}, %{{.*}}, %{{.*}} normalised :
  // expected-remark @+1 {{loops 0:? parallel, 1:128 parallel, 2:8 whole, 3:2 whole; [0, 1, 2], [0, 1, 3], [0, 1, 3] -> [0, 1, 2]; 10 flops per point; sequence 1}}
  %2 = graph.route_grad %l, %e, %dw normalised : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x8xf32>
  // CHECK: graph.place_rows %{{.*}} : (tensor<?x128x2xi32>) -> (tensor<?x128x2xi32>, tensor<?x8xi32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:128 whole, 2:2 whole, 3:8 whole; [0, 1, 2] -> [0, 1, 2], [0, 3]; 0 flops per point; sequence 1}}
  %p, %n = graph.place_rows %e : (tensor<?x128x2xi32>) -> (tensor<?x128x2xi32>, tensor<?x8xi32>)
  graph.return
}

// Samples split, rows do not but with them; partial sums of rows give partial sums of tokens.
// CHECK-LABEL: graph.func @move
graph.func @move(%x: tensor<?x128x16xf32>, %p: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // CHECK: %[[ROWS:.*]] = graph.pack_rows %{{.*}} at %{{[^ ]*}} : (tensor<?x128x16xf32>, tensor<?x128x2xi32>) -> tensor<8x?x32x16xf32>
  // expected-remark @+1 {{loops 0:8 parallel, 1:? parallel, 2:128 whole, 3:2 whole, 4:32 whole, 5:16 parallel; [1, 2, 5], [1, 2, 3] -> [0, 1, 4, 5]; 0 flops per point, exchange, zero-preserving; indexed 0; experts 0; capacity 4; sequence 2; channels 5}}
  %r = graph.pack_rows %x at %p : (tensor<?x128x16xf32>, tensor<?x128x2xi32>) -> tensor<8x?x32x16xf32>
  // 3 experts do not divide 256 choices: 258 rows.
  // CHECK: graph.pack_rows %{{.*}} at %{{.*}} weighted %{{.*}} : {{.*}} -> tensor<3x?x86x16xf32>
  // expected-remark @+1 {{[1, 2, 5], [1, 2, 3], [1, 2, 3] -> [0, 1, 4, 5]}}
  %1 = graph.pack_rows %x at %p weighted %w : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<3x?x86x16xf32>
  // CHECK: graph.unpack_rows %[[ROWS]] at %{{.*}} weighted %{{.*}} : {{.*}} -> tensor<?x128x16xf32>
  // expected-remark @+1 {{loops 0:8 sum, 1:? parallel, 2:128 parallel, 3:2 whole, 4:32 whole, 5:16 parallel; [0, 1, 4, 5], [1, 2, 3], [1, 2, 3] -> [1, 2, 5]}}
  %2 = graph.unpack_rows %r at %p weighted %w : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
  // CHECK: graph.unpack_weight_grad %[[ROWS]] at %{{.*}}, %{{.*}} : {{.*}} -> tensor<?x128x2xf32>
  // expected-remark @+1 {{[0, 1, 4, 5], [1, 2, 3], [1, 2, 5] -> [1, 2, 3]}}
  %3 = graph.unpack_weight_grad %r at %p, %x : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x16xf32>) -> tensor<?x128x2xf32>
  graph.return
}

// CHECK-LABEL: graph.func @products
graph.func @products(%x: tensor<8x?x32x16xbf16>, %w: tensor<8x48x16xbf16>, %v: tensor<8x16x24x2xbf16>, %n: tensor<?x8xi32>) {
  // CHECK: graph.grouped_linear %{{.*}}, %{{.*}} transposed by %{{.*}} :
  // expected-remark @+1 {{loops 0:8 parallel, 1:? parallel, 2:32 whole, 3:48 parallel, 4:16 sum; [0, 1, 2, 4], [0, 3, 4], [1, 0] -> [0, 1, 2, 3]; 2 flops per point, product of batch 0 m 1 2 n 3 k 4, zero-preserving; experts 0; channels 4, 3}}
  %y = graph.grouped_linear %x, %w transposed by %n : (tensor<8x?x32x16xbf16>, tensor<8x48x16xbf16>, tensor<?x8xi32>) -> tensor<8x?x32x48xbf16>
  // CHECK: graph.grouped_linear %{{.*}}, %{{[^ ]*}} by %{{.*}} : {{.*}} -> tensor<8x?x32x24x2xf32>
  // expected-remark @+1 {{[0, 1, 2, 5], [0, 5, 3, 4], [1, 0] -> [0, 1, 2, 3, 4]}}
  %1 = graph.grouped_linear %x, %v by %n : (tensor<8x?x32x16xbf16>, tensor<8x16x24x2xbf16>, tensor<?x8xi32>) -> tensor<8x?x32x24x2xf32>
  // CHECK: graph.grouped_linear_weight_grad %{{.*}}, %{{.*}} transposed by %{{.*}} :
  // expected-remark @+1 {{loops 0:8 parallel, 1:? sum, 2:32 whole, 3:16 parallel, 4:48 parallel; [0, 1, 2, 3], [0, 1, 2, 4], [1, 0] -> [0, 4, 3]; 2 flops per point, product of batch 0 m 3 n 4 k 1 2, gradient, zero-preserving; experts 0; channels 3, 4}}
  %2 = graph.grouped_linear_weight_grad %x, %y transposed by %n : (tensor<8x?x32x16xbf16>, tensor<8x?x32x48xbf16>, tensor<?x8xi32>) -> tensor<8x48x16xbf16>
  graph.return
}
