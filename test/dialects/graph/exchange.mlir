// Rows of experts that are on several ranks: what their ops look like and which loops they have.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @blocks
graph.func @blocks(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>) {
  // CHECK: graph.place_rows %{{.*}} ranks 2 : (tensor<?x128x2xi32>) -> (tensor<?x128x2xi32>, tensor<?x8xi32>)
  // expected-remark @+1 {{loops 0:? parallel, 1:128 whole, 2:2 whole, 3:8 whole; [0, 1, 2] -> [0, 1, 2], [0, 3]}}
  %p, %n = graph.place_rows %e ranks 2 : (tensor<?x128x2xi32>) -> (tensor<?x128x2xi32>, tensor<?x8xi32>)
  // CHECK: graph.pack_rows %{{.*}} at %{{.*}} blocks : {{.*}} -> tensor<2x?x256x16xf32>
  // expected-remark @+1 {{loops 0:2 parallel, 1:? parallel, 2:128 whole, 3:2 whole, 4:256 whole, 5:16 parallel; [1, 2, 5], [1, 2, 3] -> [0, 1, 4, 5]}}
  %b = graph.pack_rows %x at %p blocks : (tensor<?x128x16xf32>, tensor<?x128x2xi32>) -> tensor<2x?x256x16xf32>
  // CHECK: graph.exchange %{{.*}} from 1 to 0 : tensor<2x?x256x16xf32>
  // expected-remark @+1 {{loops 0:2 parallel, 1:? parallel, 2:256 parallel, 3:16 parallel; [0, 1, 2, 3] -> [0, 1, 2, 3]; 0 flops per point, view, zero-preserving, linear}}
  %1 = graph.exchange %b from 1 to 0 : tensor<2x?x256x16xf32>
  // CHECK: graph.exchange %{{.*}} from 0 to 1 : tensor<?x8xi32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 0 flops per point, view, zero-preserving, linear}}
  %2 = graph.exchange %n from 0 to 1 : tensor<?x8xi32>
  // CHECK: graph.place_blocks %{{.*}} : (tensor<?x8xi32>) -> tensor<2x?x256xi32>
  // expected-remark @+1 {{loops 0:2 parallel, 1:? parallel, 2:256 whole, 3:4 whole; [1, 0*3] -> [0, 1, 2]; 0 flops per point; experts 0}}
  %3 = graph.place_blocks %2 : (tensor<?x8xi32>) -> tensor<2x?x256xi32>
  // CHECK: graph.sort_rows %{{.*}} at %{{.*}} : (tensor<2x?x256x16xf32>, tensor<2x?x256xi32>) -> tensor<8x?x64x16xf32>
  // expected-remark @+1 {{loops 0:2 parallel, 1:? parallel, 2:256 whole, 3:4 whole, 4:64 whole, 5:16 parallel; [0, 1, 2, 5], [0, 1, 2] -> [0*3, 1, 4, 5]; 0 flops per point, zero-preserving, linear; experts 0; channels 5}}
  %4 = graph.sort_rows %1 at %3 : (tensor<2x?x256x16xf32>, tensor<2x?x256xi32>) -> tensor<8x?x64x16xf32>
  // CHECK: graph.unsort_rows %{{.*}} at %{{.*}} : (tensor<8x?x64x16xf32>, tensor<2x?x256xi32>) -> tensor<2x?x256x16xf32>
  // expected-remark @+1 {{[0*3, 1, 4, 5], [0, 1, 2] -> [0, 1, 2, 5]}}
  %5 = graph.unsort_rows %4 at %3 : (tensor<8x?x64x16xf32>, tensor<2x?x256xi32>) -> tensor<2x?x256x16xf32>
  // CHECK: graph.unpack_rows %{{.*}} at %{{.*}} blocks : {{.*}} -> tensor<?x128x16xf32>
  // expected-remark @+1 {{[0, 1, 4, 5], [1, 2, 3] -> [1, 2, 5]}}
  %6 = graph.unpack_rows %5 at %p blocks : (tensor<2x?x256x16xf32>, tensor<?x128x2xi32>) -> tensor<?x128x16xf32>
  graph.return
}

// Two rounds of blocks with room for 160 rows.
// CHECK-LABEL: graph.func @rounds
graph.func @rounds(%x: tensor<?x128x16xf32>, %p: tensor<?x128x2xi32>, %n: tensor<?x8xi32>) {
  // CHECK: graph.round_rows %{{.*}} round 1 room 160 : tensor<?x128x2xi32>
  // expected-remark @+1 {{loops 0:? parallel, 1:128 whole, 2:2 whole; [0, 1, 2] -> [0, 1, 2]; 0 flops per point}}
  %now = graph.round_rows %p round 1 room 160 : tensor<?x128x2xi32>
  // CHECK: graph.round_counts %{{.*}} experts 4 round 1 room 160 : tensor<?x8xi32>
  // expected-remark @+1 {{loops 0:? parallel, 1:2 parallel, 2:4 whole; [0, 1*2] -> [0, 1*2]; 0 flops per point; experts 1}}
  %counts = graph.round_counts %n experts 4 round 1 room 160 : tensor<?x8xi32>
  // CHECK: graph.pack_rows %{{.*}} at %{{.*}} blocks : {{.*}} -> tensor<2x?x160x16xf32>
  // expected-remark @+1 {{4:160 whole}}
  %b = graph.pack_rows %x at %now blocks : (tensor<?x128x16xf32>, tensor<?x128x2xi32>) -> tensor<2x?x160x16xf32>
  // CHECK: graph.place_blocks %{{.*}} : (tensor<?x8xi32>) -> tensor<2x?x160xi32>
  // expected-remark @+1 {{2:160 whole}}
  %order = graph.place_blocks %counts : (tensor<?x8xi32>) -> tensor<2x?x160xi32>
  // CHECK: graph.sort_rows %{{.*}} -> tensor<8x?x40x16xf32>
  // expected-remark @+1 {{2:160 whole}}
  %rows = graph.sort_rows %b at %order : (tensor<2x?x160x16xf32>, tensor<2x?x160xi32>) -> tensor<8x?x40x16xf32>
  // CHECK: graph.unpack_rows %{{.*}} at %{{.*}} blocks : {{.*}} -> tensor<?x128x16xf32>
  // expected-remark @+1 {{4:160 whole}}
  %y = graph.unpack_rows %b at %now blocks : (tensor<2x?x160x16xf32>, tensor<?x128x2xi32>) -> tensor<?x128x16xf32>
  graph.return
}
