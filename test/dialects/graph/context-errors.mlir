// Every constraint of the ops of sequences that are on several ranks, once each.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// chunk_starts_c1
graph.func @chunk_starts_c1() {
  // expected-error @+1 {{'graph.chunk_starts' op 'starts' has 1 dims, but 2 are wanted}}
  %0 = graph.chunk_starts size 8 : tensor<4xi32>
  graph.return
}

// -----

// chunk_starts_c2
graph.func @chunk_starts_c2() {
  // expected-error @+1 {{'graph.chunk_starts' op 'size' is 0, but 1 or more is wanted}}
  %0 = graph.chunk_starts size 0 : tensor<4x2xi32>
  graph.return
}

// -----

// chunk_starts_c3
graph.func @chunk_starts_c3() {
  // expected-error @+1 {{'graph.chunk_starts' op entry 0 of 'windows' is about loop 0, whose index does not matter to this op}}
  %0 = graph.chunk_starts size 8 {windows = [#graph.window<loop = 0, local = 2, global = 4, axes = [0]>]} : tensor<2x2xi32>
  graph.return
}

// -----

// chunk_starts_c4
graph.func @chunk_starts_c4() {
  // expected-error @+1 {{'graph.chunk_starts' op 'within' is [3, 2], but a least and a most number are wanted}}
  %0 = graph.chunk_starts size 8 within [3, 2] : tensor<2x2xi32>
  graph.return
}

// -----

// chunk_starts_c5
graph.func @chunk_starts_c5() {
  // expected-error @+1 {{'graph.chunk_starts' op 'turned' is [2, 2], but a number from 0 to below a second one is wanted}}
  %0 = graph.chunk_starts size 8 turned [2, 2] : tensor<2x2xi32>
  graph.return
}
