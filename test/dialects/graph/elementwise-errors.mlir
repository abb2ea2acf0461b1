// What point-by-point ops refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// binary_c1
graph.func @binary_c1(%x: tensor<?x8xf32>, %y: tensor<7xf32>) {
  // expected-error @+1 {{'graph.add' op dim 0 of operand 1 is 7, but the operands before it have 8 there; equal sizes or 1 are wanted}}
  %0 = graph.add %x, %y : (tensor<?x8xf32>, tensor<7xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// binary_c1_batch
graph.func @binary_c1_batch(%x: tensor<?x8xf32>, %y: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.multiply' op dim 0 of operand 1 is 4, but the operands before it have ? there; equal sizes or 1 are wanted}}
  %0 = graph.multiply %x, %y : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// binary_c2
graph.func @binary_c2(%x: tensor<4x1xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{'graph.subtract' op dim 1 of 'result' is 1, but dim 1 of the operands together is 8}}
  %0 = graph.subtract %x, %y : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x1xf32>
  graph.return
}

// -----

// binary_c3
graph.func @binary_c3(%x: tensor<8xf32>, %y: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.divide' op operand 1 has element type 'bf16', but the result has 'f32'}}
  %0 = graph.divide %x, %y : (tensor<8xf32>, tensor<8xbf16>) -> tensor<8xf32>
  graph.return
}

// -----

// select_equal_c1
graph.func @select_equal_c1(%x: tensor<3xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{'graph.select_equal' op dim 0 of operand 1 is 8, but the operands before it have 3 there; equal sizes or 1 are wanted}}
  %0 = graph.select_equal %x, %y, %y : (tensor<3xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.return
}

// -----

// constant_c1
graph.func @constant_c1() {
  // expected-error @+1 {{'graph.constant' op has dynamic dim 1, but only dim 0, the batch, may be dynamic}}
  %0 = graph.constant 1.0 : tensor<8x?xf32>
  graph.return
}

// -----

// binary_c1_maximum
graph.func @binary_c1_maximum(%x: tensor<?x8xf32>, %y: tensor<7xf32>) {
  // expected-error @+1 {{'graph.maximum' op dim 0 of operand 1 is 7, but the operands before it have 8 there; equal sizes or 1 are wanted}}
  %0 = graph.maximum %x, %y : (tensor<?x8xf32>, tensor<7xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// binary_c2_minimum
graph.func @binary_c2_minimum(%x: tensor<4x1xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{'graph.minimum' op dim 1 of 'result' is 1, but dim 1 of the operands together is 8}}
  %0 = graph.minimum %x, %y : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x1xf32>
  graph.return
}
