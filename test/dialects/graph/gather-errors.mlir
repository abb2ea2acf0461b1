// Errors of ops at indices and of selection: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// gather_c1
graph.func @gather_c1(%x: tensor<?x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op works on dim 0 of 'x', which is dynamic}}
  %0 = graph.gather %x, %i dim 0 : (tensor<?x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  graph.return
}

// -----

// gather_c2
graph.func @gather_c2(%x: tensor<?x8x4xf32>, %i: tensor<?x3xi32>) {
  // expected-error @+1 {{'graph.gather' op 'index' has 2 dims, but 'x' has 3; 1 dim would hold for all others}}
  %0 = graph.gather %x, %i dim 1 : (tensor<?x8x4xf32>, tensor<?x3xi32>) -> tensor<?x3x4xf32>
  graph.return
}

// -----

// gather_c2_size
graph.func @gather_c2_size(%x: tensor<?x8x4xf32>, %i: tensor<?x3x5xi32>) {
  // expected-error @+1 {{'graph.gather' op dim 2 of 'index' is 5, but dim 2 of 'x' is 4}}
  %0 = graph.gather %x, %i dim 1 : (tensor<?x8x4xf32>, tensor<?x3x5xi32>) -> tensor<?x3x4xf32>
  graph.return
}

// -----

// gather_c2_batch
graph.func @gather_c2_batch(%x: tensor<8xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.gather' op works on dim 0 of 'index', which is dynamic}}
  %0 = graph.gather %x, %i dim 0 : (tensor<8xf32>, tensor<?xi32>) -> tensor<?xf32>
  graph.return
}

// -----

// gather_c3
graph.func @gather_c3(%x: tensor<?x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op dim 1 of 'result' is 4, but the number of indices is 3}}
  %0 = graph.gather %x, %i dim 1 : (tensor<?x8xf32>, tensor<3xi32>) -> tensor<?x4xf32>
  graph.return
}

// -----

// gather_c4
graph.func @gather_c4(%x: tensor<?x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.gather %x, %i dim 1 : (tensor<?x8xf32>, tensor<3xi32>) -> tensor<?x3xbf16>
  graph.return
}

// -----

// gather_c5
graph.func @gather_c5(%x: tensor<?x8xf32>, %i: tensor<3xbf16>) {
  // expected-error @+1 {{'graph.gather' op 'index' has element type 'bf16', but f32 is wanted}}
  %0 = graph.gather %x, %i dim 1 : (tensor<?x8xf32>, tensor<3xbf16>) -> tensor<?x3xf32>
  graph.return
}

// -----

// scatter_add_c1
graph.func @scatter_add_c1(%u: tensor<?x3xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'graph.scatter_add' op works on dim 2, but 'u' has 2 dims}}
  %0 = graph.scatter_add %u, %i dim 2 : (tensor<?x3xf32>, tensor<3xi32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// scatter_add_c2
graph.func @scatter_add_c2(%u: tensor<?x3xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'graph.scatter_add' op dim 0 of 'index' is 4, but dim 1 of 'u' is 3}}
  %0 = graph.scatter_add %u, %i dim 1 : (tensor<?x3xf32>, tensor<4xi32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// scatter_add_c3
graph.func @scatter_add_c3(%u: tensor<?x3x2xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'graph.scatter_add' op dim 2 of 'result' is 4, but dim 2 of 'u' is 2}}
  %0 = graph.scatter_add %u, %i dim 1 : (tensor<?x3x2xf32>, tensor<3xi32>) -> tensor<?x8x4xf32>
  graph.return
}

// -----

// scatter_add_c4
graph.func @scatter_add_c4(%u: tensor<?x3xbf16>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'graph.scatter_add' op 'result' has element type 'bf16', but f32 is wanted}}
  %0 = graph.scatter_add %u, %i dim 1 : (tensor<?x3xbf16>, tensor<3xi32>) -> tensor<?x8xbf16>
  graph.return
}

// -----

// top_k_c1
graph.func @top_k_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.top_k' op works on dim 0 of 'x', which is dynamic}}
  %0, %1 = graph.top_k %x dim 0 : tensor<?x8xf32> -> (tensor<2x8xf32>, tensor<2x8xf32>)
  graph.return
}

// -----

// top_k_c2
graph.func @top_k_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.top_k' op selects 9 of 8 elements of dim 1 of 'x'; select 1 to 8}}
  %0, %1 = graph.top_k %x dim 1 : tensor<?x8xf32> -> (tensor<?x9xf32>, tensor<?x9xf32>)
  graph.return
}

// -----

// top_k_c2_indices
graph.func @top_k_c2_indices(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.top_k' op dim 1 of 'indices' is 3, but dim 1 of 'values' is 2}}
  %0, %1 = graph.top_k %x dim 1 : tensor<?x8xf32> -> (tensor<?x2xf32>, tensor<?x3xf32>)
  graph.return
}

// -----

// top_k_c3
graph.func @top_k_c3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.top_k' op 'values' has element type 'bf16', but 'x' has 'f32'}}
  %0, %1 = graph.top_k %x dim 1 : tensor<?x8xf32> -> (tensor<?x2xbf16>, tensor<?x2xf32>)
  graph.return
}

// -----

// top_k_c4
graph.func @top_k_c4(%x: tensor<?x8xbf16>) {
  // expected-error @+1 {{'graph.top_k' op 'indices' has element type 'bf16', but f32 is wanted}}
  %0, %1 = graph.top_k %x dim 1 : tensor<?x8xbf16> -> (tensor<?x2xbf16>, tensor<?x2xbf16>)
  graph.return
}

// -----

// top_k_c5
graph.func @top_k_c5(%x: tensor<?x20000000xf32>) {
  // expected-error @+1 {{'graph.top_k' op selects among 20000000 elements, whose indices f32 can't hold; at most 16777216 are}}
  %0, %1 = graph.top_k %x dim 1 : tensor<?x20000000xf32> -> (tensor<?x2xf32>, tensor<?x2xf32>)
  graph.return
}
