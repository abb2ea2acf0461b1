// What the layers refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// linear_c1
graph.func @linear_c1(%x: tensor<?x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{'graph.linear' op contracts 3 dims, but 'x' has 2}}
  %0 = graph.linear %x, %w contract 3 : (tensor<?x16xf32>, tensor<16x4xf32>) -> tensor<4xf32>
  graph.return
}

// -----

// linear_c1_zero
graph.func @linear_c1_zero(%x: tensor<?x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{'graph.linear' op contracts 0 dims, but 'x' has 2}}
  %0 = graph.linear %x, %w contract 0 : (tensor<?x16xf32>, tensor<16x4xf32>) -> tensor<4xf32>
  graph.return
}

// -----

// linear_c2
graph.func @linear_c2(%x: tensor<?x16xf32>, %w: tensor<16xf32>) {
  // expected-error @+1 {{'graph.linear' op 'weight' has 1 dims, but at least 2 are wanted}}
  %0 = graph.linear %x, %w : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?xf32>
  graph.return
}

// -----

// linear_c3
graph.func @linear_c3(%x: tensor<?x8x16xf32>, %w: tensor<15x32xf32>) {
  // expected-error @+1 {{'graph.linear' op dim 0 of 'weight' is 15, but dim 2 of 'x' is 16}}
  %0 = graph.linear %x, %w : (tensor<?x8x16xf32>, tensor<15x32xf32>) -> tensor<?x8x32xf32>
  graph.return
}

// -----

// linear_c3_transposed
graph.func @linear_c3_transposed(%x: tensor<?x8x16xf32>, %w: tensor<16x32xf32>) {
  // expected-error @+1 {{'graph.linear' op dim 1 of 'weight' is 32, but dim 2 of 'x' is 16}}
  %0 = graph.linear %x, %w transposed : (tensor<?x8x16xf32>, tensor<16x32xf32>) -> tensor<?x8x32xf32>
  graph.return
}

// -----

// linear_c4
graph.func @linear_c4(%x: tensor<?x8x16xf32>, %w: tensor<16x32xf32>) {
  // expected-error @+1 {{'graph.linear' op dim 2 of 'result' is 31, but dim 1 of 'weight' is 32}}
  %0 = graph.linear %x, %w : (tensor<?x8x16xf32>, tensor<16x32xf32>) -> tensor<?x8x31xf32>
  graph.return
}

// -----

// linear_c4_rank
graph.func @linear_c4_rank(%x: tensor<?x8x16xf32>, %w: tensor<16x32xf32>) {
  // expected-error @+1 {{'graph.linear' op 'result' has 2 dims, but 3 are wanted}}
  %0 = graph.linear %x, %w : (tensor<?x8x16xf32>, tensor<16x32xf32>) -> tensor<?x32xf32>
  graph.return
}

// -----

// linear_c5
graph.func @linear_c5(%x: tensor<?x16xf32>, %w: tensor<16x4xbf16>) {
  // expected-error @+1 {{'graph.linear' op 'weight' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.linear %x, %w : (tensor<?x16xf32>, tensor<16x4xbf16>) -> tensor<?x4xf32>
  graph.return
}

// -----

// linear_c6
graph.func @linear_c6(%x: tensor<?x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{'graph.linear' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.linear %x, %w : (tensor<?x16xf32>, tensor<16x4xf32>) -> tensor<?x4xbf16>
  graph.return
}

// -----

// linear_c7
graph.func @linear_c7_shape(%x: tensor<?x16xf32>, %w: tensor<16x4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'graph.linear' op dim 0 of 'bias' is 5, but dim 1 of 'weight' is 4}}
  %0 = graph.linear %x, %w, %b : (tensor<?x16xf32>, tensor<16x4xf32>, tensor<5xf32>) -> tensor<?x4xf32>
  graph.return
}

// -----

// linear_c7
graph.func @linear_c7_element(%x: tensor<?x16xbf16>, %w: tensor<16x4xbf16>, %b: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.linear' op 'bias' has element type 'bf16', but 'result' has 'f32'}}
  %0 = graph.linear %x, %w, %b : (tensor<?x16xbf16>, tensor<16x4xbf16>, tensor<4xbf16>) -> tensor<?x4xf32>
  graph.return
}

// -----

// matmul_c1
graph.func @matmul_c1(%a: tensor<4xf32>, %b: tensor<4x2xf32>) {
  // expected-error @+1 {{'graph.matmul' op 'a' has 1 dims, but at least 2 are wanted}}
  %0 = graph.matmul %a, %b : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  graph.return
}

// -----

// matmul_c1_batch
graph.func @matmul_c1_batch(%a: tensor<?x4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{'graph.matmul' op 'b' has 2 dims, but 3 are wanted}}
  %0 = graph.matmul %a, %b : (tensor<?x4x8xf32>, tensor<8x6xf32>) -> tensor<?x4x6xf32>
  graph.return
}

// -----

// matmul_c2
graph.func @matmul_c2(%a: tensor<3x4x8xf32>, %b: tensor<2x8x6xf32>) {
  // expected-error @+1 {{'graph.matmul' op dim 0 of 'b' is 2, but dim 0 of 'a' is 3}}
  %0 = graph.matmul %a, %b : (tensor<3x4x8xf32>, tensor<2x8x6xf32>) -> tensor<3x4x6xf32>
  graph.return
}

// -----

// matmul_c3
graph.func @matmul_c3(%a: tensor<?x4x8xf32>, %b: tensor<?x8x6xf32>) {
  // expected-error @+1 {{'graph.matmul' op dim 2 of 'b' is 6, but dim 2 of 'a' is 8}}
  %0 = graph.matmul %a, %b transposed : (tensor<?x4x8xf32>, tensor<?x8x6xf32>) -> tensor<?x4x8xf32>
  graph.return
}

// -----

// matmul_c4
graph.func @matmul_c4(%a: tensor<?x4x8xf32>, %b: tensor<?x8x6xf32>) {
  // expected-error @+1 {{'graph.matmul' op dim 1 of 'result' is 6, but dim 1 of 'a' is 4}}
  %0 = graph.matmul %a, %b : (tensor<?x4x8xf32>, tensor<?x8x6xf32>) -> tensor<?x6x4xf32>
  graph.return
}

// -----

// matmul_c5
graph.func @matmul_c5(%a: tensor<4x8xf32>, %b: tensor<8x6xf16>) {
  // expected-error @+1 {{'graph.matmul' op 'b' has element type 'f16', but 'a' has 'f32'}}
  %0 = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x6xf16>) -> tensor<4x6xf32>
  graph.return
}

// -----

// matmul_c6
graph.func @matmul_c6(%a: tensor<4x8xbf16>, %b: tensor<8x6xbf16>) {
  // expected-error @+1 {{'graph.matmul' op 'result' has element type 'f16', but 'a' has 'bf16'}}
  %0 = graph.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf16>
  graph.return
}

// -----

// embedding_c1
graph.func @embedding_c1(%t: tensor<256xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op 'table' has 1 dims, but 2 are wanted}}
  %0 = graph.embedding %t, %i : (tensor<256xf32>, tensor<?xi32>) -> tensor<?x1xf32>
  graph.return
}

// -----

// embedding_c2
graph.func @embedding_c2(%t: tensor<256x16xf32>, %i: tensor<?x8xi32>) {
  // expected-error @+1 {{'graph.embedding' op dim 2 of 'result' is 8, but dim 1 of 'table' is 16}}
  %0 = graph.embedding %t, %i : (tensor<256x16xf32>, tensor<?x8xi32>) -> tensor<?x8x8xf32>
  graph.return
}

// -----

// embedding_c3
graph.func @embedding_c3(%t: tensor<256x16xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op 'result' has element type 'bf16', but 'table' has 'f32'}}
  %0 = graph.embedding %t, %i : (tensor<256x16xf32>, tensor<?xi32>) -> tensor<?x16xbf16>
  graph.return
}

// -----

// embedding_c4
graph.func @embedding_c4(%t: tensor<256x16xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op entry 0 of 'windows' is about loop 0, whose index does not matter to this op}}
  %0 = graph.embedding %t, %i {windows = [#graph.window<loop = 0, local = 1, global = 2, axes = [1]>]} : (tensor<256x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// embedding_c4_kind
graph.func @embedding_c4_kind(%t: tensor<256x16xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op entry 0 of 'windows' is 3 : i64, but a #graph.window is wanted}}
  %0 = graph.embedding %t, %i {windows = [3 : i64]} : (tensor<256x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// embedding_c4_sizes
graph.func @embedding_c4_sizes(%t: tensor<256x16xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op entry 0 of 'windows' has sizes 0 and 256, but 1 or more is wanted}}
  %0 = graph.embedding %t, %i {windows = [#graph.window<loop = 2, local = 0, global = 256, axes = [1]>]} : (tensor<256x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// embedding_c5
graph.func @embedding_c5(%t: tensor<256x16xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op 'padding' is 256, but the table has 256 rows}}
  %0 = graph.embedding %t, %i padding 256 : (tensor<256x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// embedding_c5_negative
graph.func @embedding_c5_negative(%t: tensor<256x16xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{'graph.embedding' op 'padding' is -1, but the table has 256 rows}}
  %0 = graph.embedding %t, %i padding -1 : (tensor<256x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
  graph.return
}

// -----

// norm_c1
graph.func @norm_c1(%x: tensor<f32>, %w: tensor<f32>) {
  // expected-error @+1 {{'graph.rms_norm' op 'x' has 0 dims, but at least 1 are wanted}}
  %y, %r = graph.rms_norm %x, %w : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  graph.return
}

// -----

// norm_c2
graph.func @norm_c2(%x: tensor<?x16xf32>, %w: tensor<16xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op dim 1 of 'result' is 8, but dim 1 of 'x' is 16}}
  %y, %m, %r = graph.layer_norm %x, %w, %w : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x8xf32>, tensor<?xf32>, tensor<?xf32>)
  graph.return
}

// -----

// norm_c3
graph.func @norm_c3(%x: tensor<?x16xbf16>, %w: tensor<16xf32>) {
  // expected-error @+1 {{'graph.rms_norm' op 'weight' has element type 'f32', but 'x' has 'bf16'}}
  %y, %r = graph.rms_norm %x, %w : (tensor<?x16xbf16>, tensor<16xf32>) -> (tensor<?x16xbf16>, tensor<?xf32>)
  graph.return
}

// -----

// norm_c4
graph.func @norm_c4(%x: tensor<?x16xf32>, %w: tensor<16xf32>, %b: tensor<15xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op dim 0 of 'bias' is 15, but dim 1 of 'x' is 16}}
  %y, %m, %r = graph.layer_norm %x, %w, %b : (tensor<?x16xf32>, tensor<16xf32>, tensor<15xf32>) -> (tensor<?x16xf32>, tensor<?xf32>, tensor<?xf32>)
  graph.return
}

// -----

// norm_c5
graph.func @norm_c5(%x: tensor<?x8x16xf32>, %w: tensor<16xf32>) {
  // expected-error @+1 {{'graph.rms_norm' op 'rstd' has 1 dims, but 2 are wanted}}
  %y, %r = graph.rms_norm %x, %w : (tensor<?x8x16xf32>, tensor<16xf32>) -> (tensor<?x8x16xf32>, tensor<?xf32>)
  graph.return
}

// -----

// norm_c6
graph.func @norm_c6(%x: tensor<?x16xbf16>, %w: tensor<16xbf16>) {
  // expected-error @+1 {{'graph.rms_norm' op 'rstd' has element type 'bf16', but f32 is wanted}}
  %y, %r = graph.rms_norm %x, %w : (tensor<?x16xbf16>, tensor<16xbf16>) -> (tensor<?x16xbf16>, tensor<?xbf16>)
  graph.return
}

// -----

// norm_c7
graph.func @norm_c7(%x: tensor<?x16xf32>, %w: tensor<16xf32>) {
  // expected-error @+1 {{'graph.rms_norm' op 'epsilon' is 0, but a number above 0 and below 1 is wanted}}
  %y, %r = graph.rms_norm %x, %w epsilon 0.0 : (tensor<?x16xf32>, tensor<16xf32>) -> (tensor<?x16xf32>, tensor<?xf32>)
  graph.return
}

// -----

// norm_c8
graph.func @norm_c8(%x: tensor<?x16xf32>, %w: tensor<16xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op has 2 results, but 1 (the rows) or 3 (mean and rstd, too) are wanted}}
  %y, %r = graph.layer_norm %x, %w, %w : (tensor<?x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16xf32>, tensor<?xf32>)
  graph.return
}

// -----

// rotary_table_c1
graph.func @rotary_table_c1() {
  // expected-error @+1 {{'graph.rotary_table' op 'cos' has 1 dims, but 2 are wanted}}
  %c, %s = graph.rotary_table [1.0, 0.1] : tensor<2xf32>, tensor<2xf32>
  graph.return
}

// -----

// rotary_table_c2
graph.func @rotary_table_c2() {
  // expected-error @+1 {{'graph.rotary_table' op dim 1 of 'cos' is 3, but there are 2 frequencies}}
  %c, %s = graph.rotary_table [1.0, 0.1] : tensor<8x3xf32>, tensor<8x3xf32>
  graph.return
}

// -----

// rotary_table_c3
graph.func @rotary_table_c3() {
  // expected-error @+1 {{'graph.rotary_table' op dim 0 of 'sin' is 7, but dim 0 of 'cos' is 8}}
  %c, %s = graph.rotary_table [1.0, 0.1] : tensor<8x2xf32>, tensor<7x2xf32>
  graph.return
}

// -----

// rotary_table_c4
graph.func @rotary_table_c4() {
  // expected-error @+1 {{'graph.rotary_table' op dim 0 of 'cos' is dynamic, but positions are counted at compile time}}
  %c, %s = graph.rotary_table [1.0, 0.1] : tensor<?x2xf32>, tensor<?x2xf32>
  graph.return
}

// -----

// rotary_table_c5
graph.func @rotary_table_c5() {
  // expected-error @+1 {{'graph.rotary_table' op entry 0 of 'windows' is about loop 1, whose index does not matter to this op}}
  %c, %s = graph.rotary_table [1.0, 0.1] {windows = [#graph.window<loop = 1, local = 1, global = 2, axes = [1]>]} : tensor<8x2xf32>, tensor<8x2xf32>
  graph.return
}

// -----

// rotary_table_c6
graph.func @rotary_table_c6_factor() {
  // expected-error @+1 {{'graph.rotary_table' op has 'factor', but a list of frequencies instead of 'base'}}
  %c, %s = graph.rotary_table [1.0, 0.1] factor 2.0 : tensor<8x2xf32>, tensor<8x2xf32>
  graph.return
}

// -----

// rotary_table_c6
graph.func @rotary_table_c6_low() {
  // expected-error @+1 {{'graph.rotary_table' op wants 'factor', 'low', 'high' and 'positions' together}}
  %c, %s = graph.rotary_table base 100.0 factor 2.0 low 1.0 high 4.0 : tensor<8x2xf32>, tensor<8x2xf32>
  graph.return
}

// -----

// rotary_table_c7
graph.func @rotary_table_c7_base() {
  // expected-error @+1 {{'graph.rotary_table' op 'base' is -1, but a number above 0 is wanted}}
  %c, %s = graph.rotary_table base -1.0 : tensor<8x2xf32>, tensor<8x2xf32>
  graph.return
}

// -----

// rotary_table_c7
graph.func @rotary_table_c7_high() {
  // expected-error @+1 {{'graph.rotary_table' op 'high' is 1, but a number above 'low', which is 1, is wanted}}
  %c, %s = graph.rotary_table base 100.0 factor 2.0 low 1.0 high 1.0 positions 64 : tensor<8x2xf32>, tensor<8x2xf32>
  graph.return
}

// -----

// rotary_c1
graph.func @rotary_c1(%x: tensor<8x2x4xf32>, %c: tensor<8x2xf32>) {
  // expected-error @+1 {{'graph.rotary' op 'x' has 3 dims, but 4 are wanted}}
  %0 = graph.rotary %x, %c, %c : (tensor<8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2x4xf32>
  graph.return
}

// -----

// rotary_c2
graph.func @rotary_c2(%x: tensor<?x8x2x5xf32>, %c: tensor<8x2xf32>) {
  // expected-error @+1 {{'graph.rotary' op dim 3 of 'x' is 5, but an even number is wanted: elements rotate in pairs}}
  %0 = graph.rotary %x, %c, %c : (tensor<?x8x2x5xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<?x8x2x5xf32>
  graph.return
}

// -----

// rotary_c3
graph.func @rotary_c3(%x: tensor<?x8x2x4xf32>, %c: tensor<8x4xf32>) {
  // expected-error @+1 {{'graph.rotary' op dim 1 of 'cos' is 4, but half of dim 3 of 'x' is 2}}
  %0 = graph.rotary %x, %c, %c : (tensor<?x8x2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<?x8x2x4xf32>
  graph.return
}

// -----

// rotary_c4
graph.func @rotary_c4(%x: tensor<?x8x2x4xf32>, %c: tensor<8x2xf32>) {
  // expected-error @+1 {{'graph.rotary' op dim 2 of 'result' is 3, but dim 2 of 'x' is 2}}
  %0 = graph.rotary %x, %c, %c : (tensor<?x8x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<?x8x3x4xf32>
  graph.return
}

// -----

// rotary_c5
graph.func @rotary_c5(%x: tensor<?x8x2x4xf32>, %c: tensor<8x2xbf16>) {
  // expected-error @+1 {{'graph.rotary' op 'cos' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.rotary %x, %c, %c : (tensor<?x8x2x4xf32>, tensor<8x2xbf16>, tensor<8x2xbf16>) -> tensor<?x8x2x4xf32>
  graph.return
}

// -----

// cross_entropy_c1
graph.func @cross_entropy_c1(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+1 {{'graph.cross_entropy' op 'logits' has 0 dims, but at least 1 are wanted}}
  %l, %e = graph.cross_entropy %x, %t : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  graph.return
}

// -----

// cross_entropy_c2
graph.func @cross_entropy_c2(%x: tensor<?x8x256xf32>, %t: tensor<?x7xi32>) {
  // expected-error @+1 {{'graph.cross_entropy' op dim 1 of 'targets' is 7, but dim 1 of 'logits' is 8}}
  %l, %e = graph.cross_entropy %x, %t : (tensor<?x8x256xf32>, tensor<?x7xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// cross_entropy_c3
graph.func @cross_entropy_c3(%x: tensor<?x8x256xf32>, %t: tensor<?x8xi32>) {
  // expected-error @+1 {{'graph.cross_entropy' op 'lse' has 1 dims, but 2 are wanted}}
  %l, %e = graph.cross_entropy %x, %t : (tensor<?x8x256xf32>, tensor<?x8xi32>) -> (tensor<?x8xf32>, tensor<?xf32>)
  graph.return
}

// -----

// cross_entropy_c4
graph.func @cross_entropy_c4(%x: tensor<?x256xbf16>, %t: tensor<?xi32>) {
  // expected-error @+1 {{'graph.cross_entropy' op 'loss' has element type 'bf16', but f32 is wanted}}
  %l, %e = graph.cross_entropy %x, %t : (tensor<?x256xbf16>, tensor<?xi32>) -> (tensor<?xbf16>, tensor<?xf32>)
  graph.return
}

// -----

// sum_exp_c1
graph.func @sum_exp_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.sum_exp' op 'x' has 0 dims, but at least 1 are wanted}}
  %0 = graph.sum_exp %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return
}

// -----

// sum_exp_c2
graph.func @sum_exp_c2(%x: tensor<4x256xf32>, %m: tensor<3xf32>) {
  // expected-error @+1 {{'graph.sum_exp' op dim 0 of 'max' is 3, but dim 0 of 'x' is 4}}
  %0 = graph.sum_exp %x, %m : (tensor<4x256xf32>, tensor<3xf32>) -> tensor<4xf32>
  graph.return
}

// -----

// sum_exp_c3
graph.func @sum_exp_c3(%x: tensor<4x256xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{'graph.sum_exp' op 'result' has 2 dims, but 1 are wanted}}
  %0 = graph.sum_exp %x, %m : (tensor<4x256xf32>, tensor<4xf32>) -> tensor<4x1xf32>
  graph.return
}

// -----

// sum_exp_c4
graph.func @sum_exp_c4(%x: tensor<4x256xbf16>, %m: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.sum_exp' op 'result' has element type 'bf16', but f32 is wanted}}
  %0 = graph.sum_exp %x, %m : (tensor<4x256xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  graph.return
}

// -----

// sum_exp_c5
graph.func @sum_exp_c5(%x: tensor<4x256xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{'graph.sum_exp' op entry 0 of 'windows' is about loop 0, whose index does not matter to this op}}
  %0 = graph.sum_exp %x, %m {windows = [#graph.window<loop = 0, local = 4, global = 8, axes = [1]>]} : (tensor<4x256xf32>, tensor<4xf32>) -> tensor<4xf32>
  graph.return
}

// -----

// pick_c1
graph.func @pick_c1(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+1 {{'graph.pick' op 'x' has 0 dims, but at least 1 are wanted}}
  %0 = graph.pick %x, %t : (tensor<f32>, tensor<i32>) -> tensor<f32>
  graph.return
}

// -----

// pick_c2
graph.func @pick_c2(%x: tensor<4x256xf32>, %t: tensor<4x1xi32>) {
  // expected-error @+1 {{'graph.pick' op 'targets' has 2 dims, but 1 are wanted}}
  %0 = graph.pick %x, %t : (tensor<4x256xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  graph.return
}

// -----

// pick_c3
graph.func @pick_c3(%x: tensor<4x256xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.pick' op dim 0 of 'result' is 5, but dim 0 of 'x' is 4}}
  %0 = graph.pick %x, %t : (tensor<4x256xf32>, tensor<4xi32>) -> tensor<5xf32>
  graph.return
}

// -----

// pick_c4
graph.func @pick_c4(%x: tensor<4x256xf16>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.pick' op 'result' has element type 'bf16', but 'x' has 'f16'}}
  %0 = graph.pick %x, %t : (tensor<4x256xf16>, tensor<4xi32>) -> tensor<4xbf16>
  graph.return
}

// -----

// pick_c5
graph.func @pick_c5(%x: tensor<4x256xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.pick' op entry 0 of 'windows' is about loop 9, whose index does not matter to this op}}
  %0 = graph.pick %x, %t {windows = [#graph.window<loop = 9, local = 4, global = 8, axes = [1]>]} : (tensor<4x256xf32>, tensor<4xi32>) -> tensor<4xf32>
  graph.return
}

// -----

// softmax_c1
graph.func @softmax_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.softmax' op 'x' has 0 dims, but at least 1 are wanted}}
  %0 = graph.softmax %x : tensor<f32>
  graph.return
}

// -----

// dropout_c1
graph.func @dropout_c1(%x: tensor<?x8xf32>, %s: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+1 {{'graph.dropout' op 'p' is 1, but a number from 0 to below 1 is wanted}}
  %0 = graph.dropout %x p 1.0 id 0 key(%s, %t) : tensor<?x8xf32>
  graph.return
}

// -----

// dropout_c2
graph.func @dropout_c2(%x: tensor<?x8xf32>, %s: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+1 {{'graph.dropout' op 'global_shape' has 1 dims, but 'x' has 2}}
  %0 = graph.dropout %x p 0.5 id 0 key(%s, %t) {global_shape = array<i64: 8>} : tensor<?x8xf32>
  graph.return
}

// -----

// dropout_c3
graph.func @dropout_c3(%x: tensor<?x8xf32>, %s: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+1 {{'graph.dropout' op dim 1 of 'global_shape' is 0, but 1 or more is wanted}}
  %0 = graph.dropout %x p 0.5 id 0 key(%s, %t) {global_shape = array<i64: 4, 0>} : tensor<?x8xf32>
  graph.return
}

// -----

// dropout_c4
graph.func @dropout_c4(%x: tensor<?x8xf32>, %s: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+1 {{'graph.dropout' op entry 0 of 'windows' is about loop 2, whose index does not matter to this op}}
  %0 = graph.dropout %x p 0.5 id 0 key(%s, %t) {windows = [#graph.window<loop = 2, local = 4, global = 8, axes = [1]>]} : tensor<?x8xf32>
  graph.return
}

// -----

// dropout_c5
graph.func @dropout_c5(%x: tensor<?x?xf32>, %s: tensor<i64>, %t: tensor<f32>) {
  // expected-error @+1 {{'graph.dropout' op dim 1 of 'x' is dynamic; only the batch (dim 0) may be}}
  %0 = graph.dropout %x p 0.5 id 0 key(%s, %t) : tensor<?x?xf32>
  graph.return
}

// -----

// dropout_c6
graph.func @dropout_c6(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.dropout' op has a stream without a key, or a part of one; write 'id n key(%seed, %step)', or leave it out}}
  %0 = graph.dropout %x p 0.5 {id = 3 : i64} : tensor<?x4xf32>
  graph.return
}

// -----

// counted_c1
graph.func @counted_c1(%t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.counted' op 'result' has element type 'bf16', but f32 is wanted}}
  %0 = graph.counted %t ignoring -100 : tensor<4xi32> to tensor<4xbf16>
  graph.return
}

// -----

// weighted_mean_c1
graph.func @weighted_mean_c1(%x: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.weighted_mean' op 'x' has element type 'bf16', but f32 is wanted}}
  %0 = graph.weighted_mean %x, %x : tensor<4xbf16>
  graph.return
}

// -----

// counted_c2
graph.func @counted_c2(%t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.counted' op ignores index 4294967296, which is no 'i32', the element type of 'targets'}}
  %0 = graph.counted %t ignoring 4294967296 : tensor<4xi32> to tensor<4xf32>
  graph.return
}

// -----

// cross_entropy_c5
graph.func @cross_entropy_c5(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.cross_entropy' op ignores index -2147483649, which is no 'i32', the element type of 'targets'}}
  %0, %1 = graph.cross_entropy %x, %t ignoring -2147483649 : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  graph.return
}
