// Ops of sequences that are on several ranks: what they look like and which loops they have.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s --dtc-print-rules -verify-diagnostics -o /dev/null

// CHECK-LABEL: graph.func @chunk_starts
graph.func @chunk_starts() {
  // CHECK: graph.chunk_starts size 512 : tensor<4x8xi32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel;  -> [0, 1]; 1 flops per point; indexed 1}}
  %starts = graph.chunk_starts size 512 : tensor<4x8xi32>
  // CHECK: graph.chunk_starts size 512 offset -1024 within [0, 512] : tensor<4x8xi32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel;  -> [0, 1]; 1 flops per point; indexed 1}}
  %seen = graph.chunk_starts size 512 offset -1024 within [0, 512] : tensor<4x8xi32>
  // CHECK: graph.chunk_starts size 512 turned [3, 4] : tensor<4x8xi32>
  // expected-remark @+1 {{loops 0:4 parallel, 1:8 parallel;  -> [0, 1]; 1 flops per point; indexed 1}}
  %passed = graph.chunk_starts size 512 turned [3, 4] : tensor<4x8xi32>
  graph.return
}
