// Errors of functions by name, comparisons and choices: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// point_c1
graph.func @point_c1(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.point' op softplus has 2 parameters (beta, threshold), but 1 are given}}
  %0 = graph.point softplus [1.0] %x : tensor<8xf32>
  graph.return
}

// -----

// point_c1_none
graph.func @point_c1_none(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.point_grad' op sin has 0 parameters, but 1 are given}}
  %0 = graph.point_grad sin [1.0] %x, %x : tensor<8xf32>
  graph.return
}

// -----

// point_c2
graph.func @point_c2(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.point' op 'high' of hardtanh is inf, but a finite number is wanted}}
  %0 = graph.point hardtanh [0.0, 0x7FF0000000000000] %x : tensor<8xf32>
  graph.return
}

// -----

// point_c2_nan
graph.func @point_c2_nan(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.point' op 'low' of clamp is nan, but a finite number is wanted}}
  %0 = graph.point clamp [0x7FF8000000000000, 1.0] %x : tensor<8xf32>
  graph.return
}

// -----

// point_c3
graph.func @point_c3(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.point' op 'beta' of softplus is 0, by which it divides}}
  %0 = graph.point softplus [0.0, 20.0] %x : tensor<8xf32>
  graph.return
}

// -----

// point_unknown
graph.func @point_unknown(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'function' [sigmoid, log_sigmoid}}
  %0 = graph.point sinus %x : tensor<8xf32>
  graph.return
}

// -----

// compare_c1
graph.func @compare_c1(%x: tensor<?x8xf32>, %y: tensor<7xf32>) {
  // expected-error @+1 {{'graph.compare' op dim 0 of operand 1 is 7, but the operands before it have 8 there; equal sizes or 1 are wanted}}
  %0 = graph.compare eq %x, %y : (tensor<?x8xf32>, tensor<7xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// compare_c2
graph.func @compare_c2(%x: tensor<4x1xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{'graph.compare' op dim 1 of 'result' is 1, but dim 1 of the operands together is 8}}
  %0 = graph.compare eq %x, %y : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x1xf32>
  graph.return
}

// -----

// compare_c3
graph.func @compare_c3(%x: tensor<8xf32>, %y: tensor<8xi32>) {
  // expected-error @+1 {{'graph.compare' op 'rhs' has element type 'i32', but 'lhs' has 'f32'}}
  %0 = graph.compare eq %x, %y : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
  graph.return
}

// -----

// compare_c3_result
graph.func @compare_c3_result(%x: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.compare' op 'result' has element type 'f32', but 'lhs' has 'bf16'}}
  %0 = graph.compare eq %x, %x : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xf32>
  graph.return
}

// -----

// compare_c3_integers
graph.func @compare_c3_integers(%x: tensor<8xi32>) {
  // expected-error @+1 {{'graph.compare' op 'result' has element type 'bf16', but f32 is wanted}}
  %0 = graph.compare eq %x, %x : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xbf16>
  graph.return
}

// -----

// where_c1
graph.func @where_c1(%m: tensor<3xf32>, %x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.where' op dim 0 of operand 1 is 8, but the operands before it have 3 there; equal sizes or 1 are wanted}}
  %0 = graph.where %m, %x, %x : (tensor<3xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.return
}

// -----

// where_c2
graph.func @where_c2(%m: tensor<4x1xf32>, %x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.where' op 'result' has 1 dims, but 2 are wanted}}
  %0 = graph.where %m, %x, %x : (tensor<4x1xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.return
}

// -----

// where_c3
graph.func @where_c3(%m: tensor<8xf32>, %x: tensor<8xf32>, %y: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.where' op 'rhs' has element type 'bf16', but 'result' has 'f32'}}
  %0 = graph.where %m, %x, %y : (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>) -> tensor<8xf32>
  graph.return
}

// -----

// iota_c1
graph.func @iota_c1() {
  // expected-error @+1 {{'graph.iota' op 'result' has 2 dims, but 1 are wanted}}
  %0 = graph.iota : tensor<4x8xf32>
  graph.return
}

// -----

// iota_c2
graph.func @iota_c2() {
  // expected-error @+1 {{'graph.iota' op dim 0 of 'result' is dynamic, but numbers are counted at compile time}}
  %0 = graph.iota : tensor<?xf32>
  graph.return
}

// -----

// iota_c3
graph.func @iota_c3() {
  // expected-error @+1 {{'graph.iota' op}}
  %0 = graph.iota {windows = [3 : i64]} : tensor<8xf32>
  graph.return
}
