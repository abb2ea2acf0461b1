// Each constraint of sums in two steps has a function that violates it and nothing else.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

graph.func @chunk_squares_c1(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.chunk_squares' op has 1 tensors and chunks of 2}}
  %0 = graph.chunk_squares %x chunks [1, 1] : (tensor<8xf32>) -> tensor<4xf32>
  graph.return
}

// -----

graph.func @chunk_squares_c1_none(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.chunk_squares' op 'chunks' has 0, but 1 or more are wanted}}
  %0 = graph.chunk_squares %x chunks [0] : (tensor<8xf32>) -> tensor<4xf32>
  graph.return
}

// -----

graph.func @chunk_squares_c2(%x: tensor<8xf32>, %y: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.chunk_squares' op 'tensors' has element type 'bf16', but 'tensors' has 'f32'}}
  %0 = graph.chunk_squares %x, %y chunks [1, 1] : (tensor<8xf32>, tensor<8xbf16>) -> tensor<4xf32>
  graph.return
}

// -----

graph.func @chunk_squares_c2_static(%x: tensor<?xf32>) {
  // expected-error @+1 {{'graph.chunk_squares' op 'tensors' is 'tensor<?xf32>', but sums in parts are of static shapes}}
  %0 = graph.chunk_squares %x chunks [1] : (tensor<?xf32>) -> tensor<4xf32>
  graph.return
}

// -----

graph.func @chunk_squares_c3(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.chunk_squares' op 'result' has 6 elements, but a multiple of 4 is wanted}}
  %0 = graph.chunk_squares %x chunks [5] : (tensor<8xf32>) -> tensor<6xf32>
  graph.return
}

// -----

graph.func @chunk_squares_c3_fewer(%x: tensor<8xf32>) {
  // expected-error @+1 {{'graph.chunk_squares' op 'result' has 4 elements for 5 chunks}}
  %0 = graph.chunk_squares %x chunks [5] : (tensor<8xf32>) -> tensor<4xf32>
  graph.return
}

// -----

graph.func @sum_chunks_c1(%x: tensor<8xbf16>) {
  // expected-error @+1 {{'graph.sum_chunks' op 'sums' has element type 'bf16', but f32 is wanted}}
  %0 = graph.sum_chunks %x : tensor<8xbf16>
  graph.return
}

// -----

graph.func @row_part_sums_c1(%x: tensor<8x8x16xf32>) {
  // expected-error @+1 {{'graph.row_part_sums' op dim 1 of 'result' is 8, but dim 2 of 'x' is 16}}
  %0 = graph.row_part_sums %x : tensor<8x8x16xf32> -> tensor<4x8xf32>
  graph.return
}

// -----

graph.func @row_part_sums_c2(%x: tensor<8x8x16xf32>) {
  // expected-error @+1 {{'graph.row_part_sums' op 'result' has no parts}}
  %0 = graph.row_part_sums %x : tensor<8x8x16xf32> -> tensor<0x16xf32>
  graph.return
}

// -----

graph.func @row_part_sums_c3(%x: tensor<8x8x16xbf16>) {
  // expected-error @+1 {{'graph.row_part_sums' op 'result' has element type 'bf16', but f32 is wanted}}
  %0 = graph.row_part_sums %x : tensor<8x8x16xbf16> -> tensor<4x16xbf16>
  graph.return
}

// -----

graph.func @norm_param_grad_parts_c1(%x: tensor<8x16xf32>, %s: tensor<8xf32>, %d: tensor<8x8xf32>) {
  // expected-error @+1 {{'graph.norm_param_grad_parts' op dim 1 of 'dy' is 8, but dim 1 of 'x' is 16}}
  %0 = graph.norm_param_grad_parts %x, %s, %d : (tensor<8x16xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<4x16xf32>
  graph.return
}

// -----

graph.func @norm_param_grad_parts_c2(%x: tensor<8x16xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'graph.norm_param_grad_parts' op dim 1 of 'parts' is 8, but dim 1 of 'x' is 16}}
  %0 = graph.norm_param_grad_parts %x, %s, %x : (tensor<8x16xf32>, tensor<8xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  graph.return
}

// -----

graph.func @sum_parts_c1(%x: tensor<8x16xf32>, %y: tensor<4x16xf32>) {
  // expected-error @+1 {{'graph.sum_parts' op adds up parts of 'tensor<4x16xf32>' and of 'tensor<8x16xf32>', but one type is wanted}}
  %0, %1 = graph.sum_parts %x, %y : (tensor<8x16xf32>, tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  graph.return
}

// -----

graph.func @sum_parts_c2(%x: tensor<8x16xf32>) {
  // expected-error @+1 {{'graph.sum_parts' op has 1 operands and 2 results}}
  %0, %1 = graph.sum_parts %x : (tensor<8x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  graph.return
}
