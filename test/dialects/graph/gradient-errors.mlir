// What backward ops refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// linear_weight_grad_c1
graph.func @linear_weight_grad_c1(%x: tensor<?x16xf32>, %d: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.linear_weight_grad' op contracts 3 dims, but 'x' has 2}}
  %0 = graph.linear_weight_grad %x, %d contract 3 : (tensor<?x16xf32>, tensor<?x4xf32>) -> tensor<16x4xf32>
  graph.return
}

// -----

// linear_weight_grad_c2
graph.func @linear_weight_grad_c2(%x: tensor<?x8x16xf32>, %d: tensor<?x7x4xf32>) {
  // expected-error @+1 {{'graph.linear_weight_grad' op dim 1 of 'dy' is 7, but dim 1 of 'x' is 8}}
  %0 = graph.linear_weight_grad %x, %d : (tensor<?x8x16xf32>, tensor<?x7x4xf32>) -> tensor<16x4xf32>
  graph.return
}

// -----

// linear_weight_grad_c2_out
graph.func @linear_weight_grad_c2_out(%x: tensor<?x8x16xf32>, %d: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.linear_weight_grad' op 'dy' has 2 dims, but at least 3 are wanted}}
  %0 = graph.linear_weight_grad %x, %d : (tensor<?x8x16xf32>, tensor<?x8xf32>) -> tensor<16xf32>
  graph.return
}

// -----

// linear_weight_grad_c3
graph.func @linear_weight_grad_c3(%x: tensor<?x8x16xf32>, %d: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.linear_weight_grad' op dim 0 of 'result' is 16, but dim 2 of 'dy' is 4}}
  %0 = graph.linear_weight_grad %x, %d transposed : (tensor<?x8x16xf32>, tensor<?x8x4xf32>) -> tensor<16x4xf32>
  graph.return
}

// -----

// linear_weight_grad_c4
graph.func @linear_weight_grad_c4(%x: tensor<?x16xf32>, %d: tensor<?x4xbf16>) {
  // expected-error @+1 {{'graph.linear_weight_grad' op 'dy' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.linear_weight_grad %x, %d : (tensor<?x16xf32>, tensor<?x4xbf16>) -> tensor<16x4xf32>
  graph.return
}

// -----

// linear_weight_grad_c5
graph.func @linear_weight_grad_c5(%x: tensor<?x16xf32>, %d: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.linear_weight_grad' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.linear_weight_grad %x, %d : (tensor<?x16xf32>, tensor<?x4xf32>) -> tensor<16x4xbf16>
  graph.return
}

// -----

// embedding_grad_c1
graph.func @embedding_grad_c1(%i: tensor<?x8xi32>, %d: tensor<?x8x16xf32>) {
  // expected-error @+1 {{'graph.embedding_grad' op 'result' has 1 dims, but 2 are wanted}}
  %0 = graph.embedding_grad %i, %d : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<16xf32>
  graph.return
}

// -----

// embedding_grad_c2
graph.func @embedding_grad_c2(%i: tensor<?x8xi32>, %d: tensor<?x7x16xf32>) {
  // expected-error @+1 {{'graph.embedding_grad' op dim 1 of 'dy' is 7, but dim 1 of 'ids' is 8}}
  %0 = graph.embedding_grad %i, %d : (tensor<?x8xi32>, tensor<?x7x16xf32>) -> tensor<256x16xf32>
  graph.return
}

// -----

// embedding_grad_c3
graph.func @embedding_grad_c3(%i: tensor<?x8xi32>, %d: tensor<?x8x16xf32>) {
  // expected-error @+1 {{'graph.embedding_grad' op 'result' has element type 'f16', but 'dy' has 'f32'}}
  %0 = graph.embedding_grad %i, %d : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf16>
  graph.return
}

// -----

// embedding_grad_c4
graph.func @embedding_grad_c4(%i: tensor<?x8xi32>, %d: tensor<?x8x16xf32>) {
  // expected-error @+1 {{'graph.embedding_grad' op entry 0 of 'windows' is about loop 0, whose index does not matter to this op}}
  %0 = graph.embedding_grad %i, %d {windows = [#graph.window<loop = 0, local = 8, global = 16, axes = [1]>]} : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf32>
  graph.return
}

// -----

// embedding_grad_c5: a rank's 256 rows of a table of 300.
graph.func @embedding_grad_c5(%i: tensor<?x8xi32>, %d: tensor<?x8x16xf32>) {
  // expected-error @+1 {{'graph.embedding_grad' op 'padding' is 300, but the table has 300 rows}}
  %0 = graph.embedding_grad %i, %d padding 300 {windows = [#graph.window<loop = 3, local = 256, global = 300, axes = [1]>]} : (tensor<?x8xi32>, tensor<?x8x16xf32>) -> tensor<256x16xf32>
  graph.return
}

// -----

// norm_grad_c1
graph.func @norm_grad_c1(%x: tensor<f32>, %w: tensor<f32>, %s: tensor<f32>, %d: tensor<f32>) {
  // expected-error @+1 {{'graph.rms_norm_grad' op 'x' has 0 dims, but at least 1 are wanted}}
  %0 = graph.rms_norm_grad %x, %w, %s, %d : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return
}

// -----

// norm_grad_c2
graph.func @norm_grad_c2(%x: tensor<?x16xf32>, %w: tensor<16xf32>, %s: tensor<?xf32>, %d: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.rms_norm_grad' op dim 1 of 'dy' is 8, but dim 1 of 'x' is 16}}
  %0 = graph.rms_norm_grad %x, %w, %s, %d : (tensor<?x16xf32>, tensor<16xf32>, tensor<?xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// norm_grad_c3
graph.func @norm_grad_c3(%x: tensor<?x16xf32>, %w: tensor<16xf32>, %s: tensor<?x16xf32>, %d: tensor<?x16xf32>) {
  // expected-error @+1 {{'graph.rms_norm_grad' op 'rstd' has 2 dims, but 1 are wanted}}
  %0 = graph.rms_norm_grad %x, %w, %s, %d : (tensor<?x16xf32>, tensor<16xf32>, tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// norm_grad_c4
graph.func @norm_grad_c4(%x: tensor<?x16xf32>, %w: tensor<15xf32>, %s: tensor<?xf32>, %d: tensor<?x16xf32>) {
  // expected-error @+1 {{'graph.rms_norm_grad' op dim 0 of 'weight' is 15, but dim 1 of 'x' is 16}}
  %0 = graph.rms_norm_grad %x, %w, %s, %d : (tensor<?x16xf32>, tensor<15xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// norm_param_grad_c4
graph.func @norm_param_grad_c4(%x: tensor<?x16xf32>, %s: tensor<?xf32>) {
  // expected-error @+1 {{'graph.layer_norm_param_grad' op dim 0 of 'dbias' is 8, but dim 1 of 'x' is 16}}
  %w, %b = graph.layer_norm_param_grad %x, %s, %s, %x : (tensor<?x16xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x16xf32>) -> (tensor<16xf32>, tensor<8xf32>)
  graph.return
}

// -----

// cross_entropy_grad_c1
graph.func @cross_entropy_grad_c1(%x: tensor<f32>, %t: tensor<i32>, %e: tensor<f32>, %d: tensor<f32>) {
  // expected-error @+1 {{'graph.cross_entropy_grad' op 'logits' has 0 dims, but at least 1 are wanted}}
  %0 = graph.cross_entropy_grad %x, %t, %e, %d : (tensor<f32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return
}

// -----

// cross_entropy_grad_c2
graph.func @cross_entropy_grad_c2(%x: tensor<?x8x256xf32>, %t: tensor<?x8xi32>, %e: tensor<?x8xf32>, %d: tensor<?xf32>) {
  // expected-error @+1 {{'graph.cross_entropy_grad' op 'dloss' has 1 dims, but 2 are wanted}}
  %0 = graph.cross_entropy_grad %x, %t, %e, %d : (tensor<?x8x256xf32>, tensor<?x8xi32>, tensor<?x8xf32>, tensor<?xf32>) -> tensor<?x8x256xf32>
  graph.return
}

// -----

// cross_entropy_grad_c3
graph.func @cross_entropy_grad_c3(%x: tensor<?x256xf32>, %t: tensor<?xi32>, %e: tensor<?xf32>, %d: tensor<?xbf16>) {
  // expected-error @+1 {{'graph.cross_entropy_grad' op 'dloss' has element type 'bf16', but f32 is wanted}}
  %0 = graph.cross_entropy_grad %x, %t, %e, %d : (tensor<?x256xf32>, tensor<?xi32>, tensor<?xf32>, tensor<?xbf16>) -> tensor<?x256xf32>
  graph.return
}

// -----

// cross_entropy_grad_c4
graph.func @cross_entropy_grad_c4(%x: tensor<?x256xf32>, %t: tensor<?xi32>, %e: tensor<?xf32>, %d: tensor<?xf32>) {
  // expected-error @+1 {{'graph.cross_entropy_grad' op dim 1 of 'result' is 255, but dim 1 of 'logits' is 256}}
  %0 = graph.cross_entropy_grad %x, %t, %e, %d : (tensor<?x256xf32>, tensor<?xi32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?x255xf32>
  graph.return
}

// -----

// cross_entropy_grad_c5
graph.func @cross_entropy_grad_c5(%x: tensor<?x256xf32>, %t: tensor<?xi32>, %e: tensor<?xf32>, %d: tensor<?xf32>) {
  // expected-error @+1 {{'graph.cross_entropy_grad' op entry 0 of 'windows' is about loop 0, whose index does not matter to this op}}
  %0 = graph.cross_entropy_grad %x, %t, %e, %d {windows = [#graph.window<loop = 0, local = 8, global = 16, axes = [1]>]} : (tensor<?x256xf32>, tensor<?xi32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?x256xf32>
  graph.return
}

// -----

// softmax_grad_c1
graph.func @softmax_grad_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.softmax_grad' op 'y' has 0 dims, but at least 1 are wanted}}
  %0 = graph.softmax_grad %x, %x : tensor<f32>
  graph.return
}

// -----

// cross_entropy_grad_c6
graph.func @cross_entropy_grad_c6(%x: tensor<4x8xf32>, %t: tensor<4xi32>, %l: tensor<4xf32>) {
  // expected-error @+1 {{'graph.cross_entropy_grad' op ignores index 4294967296, which is no 'i32', the element type of 'targets'}}
  %0 = graph.cross_entropy_grad %x, %t, %l, %l ignoring 4294967296 : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  graph.return
}

// -----

// norm_grad_c3_layer_norm
graph.func @norm_grad_c3_layer_norm(%x: tensor<?x16xf32>, %w: tensor<16xf32>, %m: tensor<?x16xf32>, %s: tensor<?xf32>) {
  // expected-error @+1 {{'graph.layer_norm_grad' op 'mean' has 2 dims, but 1 are wanted}}
  %0 = graph.layer_norm_grad %x, %w, %m, %s, %x : (tensor<?x16xf32>, tensor<16xf32>, tensor<?x16xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// norm_param_grad_c4_rms_norm
graph.func @norm_param_grad_c4_rms_norm(%x: tensor<?x16xf32>, %s: tensor<?xf32>) {
  // expected-error @+1 {{'graph.rms_norm_param_grad' op dim 0 of 'result' is 8, but dim 1 of 'x' is 16}}
  %0 = graph.rms_norm_param_grad %x, %s, %x : (tensor<?x16xf32>, tensor<?xf32>, tensor<?x16xf32>) -> tensor<8xf32>
  graph.return
}
