// Activations: assembly, and the loops that each says it has.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @relu
graph.func @relu(%x: tensor<?x8xf32>) {
  // CHECK: graph.relu %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1] -> [0, 1]; 1 flops per point, zero-preserving}}
  %0 = graph.relu %x : tensor<?x8xf32>
  // CHECK: graph.relu_grad %{{.*}}, %{{.*}} : tensor<?x8xf32>
  // expected-remark @+1 {{loops 0:? parallel, 1:8 parallel; [0, 1], [0, 1] -> [0, 1]; 1 flops per point, zero-preserving}}
  %1 = graph.relu_grad %0, %x : tensor<?x8xf32>
  graph.return
}
