// What attention and its gradient refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// attention_c1
graph.func @attention_c1(%q: tensor<8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'q' has 3 dims, but 4 are wanted}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c2
graph.func @attention_c2(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x8xf32>, %v: tensor<?x8x2x8xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 3 of 'k' is 8, but dim 3 of 'q' is 16}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x8xf32>, tensor<?x8x2x8xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c3
graph.func @attention_c3(%q: tensor<?x?x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 1 is dynamic; only the batch (dim 0) may be}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x?x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x?x4x16xf32>, tensor<?x4x?xf32>)
  graph.return
}

// -----

// attention_c4
graph.func @attention_c4(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x3x16xf32>, %v: tensor<?x8x3x16xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 2 of 'q' is 4, but a multiple of dim 2 of 'k', which is 3, is wanted}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x3x16xf32>, tensor<?x8x3x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c5
graph.func @attention_c5(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x7x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 1 of 'v' is 7, but dim 1 of 'k' is 8}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x7x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c6
graph.func @attention_c6(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 1 of 'lse' is 8, but dim 2 of 'q' is 4}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x4xf32>)
  graph.return
}

// -----

// attention_c6_element
graph.func @attention_c6_element(%q: tensor<?x8x2x16xbf16>, %k: tensor<?x8x2x16xbf16>, %v: tensor<?x8x2x16xbf16>) {
  // expected-error @+1 {{'graph.attention' op 'lse' has element type 'bf16', but f32 is wanted}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x2x16xbf16>, tensor<?x8x2x16xbf16>, tensor<?x8x2x16xbf16>) -> (tensor<?x8x2x16xbf16>, tensor<?x2x8xbf16>)
  graph.return
}

// -----

// attention_c7
graph.func @attention_c7(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xbf16>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'k' has element type 'bf16', but 'q' has 'f32'}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xbf16>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c8
graph.func @attention_c8(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'dropout' is 1.5, but a number from 0 to below 1 is wanted}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 {dropout = 1.5 : f64} : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c9
graph.func @attention_c9(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op has a stream without a key, or a part of one; write 'id n key(%seed, %step)', or leave it out}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 dropout 0.5 {id = 3 : i64} : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c10
graph.func @attention_c10(%q: tensor<?x8x4x16xf32>, %k: tensor<?x4x2x16xf32>, %v: tensor<?x4x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op is causal with 8 queries, but only 4 keys, so that early queries see none}}
  %0, %l = graph.attention %q, %k, %v causal scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x4x2x16xf32>, tensor<?x4x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c11
graph.func @attention_c11(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op entry 0 of 'windows' is about loop 1, whose index does not matter to this op}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 {windows = [#graph.window<loop = 1, local = 2, global = 4, axes = [1]>]} : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c12
graph.func @attention_c12(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %v: tensor<?x8x2x16xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 2 of 'result' is 2, but dim 2 of 'q' is 4}}
  %0, %l = graph.attention %q, %k, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> (tensor<?x8x2x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_grad_c1
graph.func @attention_grad_c1(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>, %l: tensor<?x4x8xf32>) {
  // expected-error @+1 {{'graph.attention_grad' op dim 2 of 'dk' is 4, but dim 2 of 'k' is 2}}
  %0:3 = graph.attention_grad %q, %k, %k, %q, %l, %q scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>)
  graph.return
}

// -----

// attention_c13
graph.func @attention_c13(%q: tensor<?x8x4x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'sliding' is 0, but 1 key or more is wanted}}
  %0, %l = graph.attention %q, %q, %q causal sliding 0 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c13_full
graph.func @attention_c13_full(%q: tensor<?x8x4x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'sliding' is 0, but 1 key or more is wanted}}
  %0, %l = graph.attention %q, %q, %q sliding 0 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c14
graph.func @attention_c14(%q: tensor<?x8x4x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'soft_cap' is 0, but a number greater than 0 is wanted}}
  %0, %l = graph.attention %q, %q, %q soft_cap 0.0 scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c15
graph.func @attention_c15(%q: tensor<?x8x4x16xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 0 of 'sinks' is 2, but dim 2 of 'q' is 4}}
  %0 = graph.attention %q, %q, %q sinks %s : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<2xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c15_f32
graph.func @attention_c15_f32(%q: tensor<?x8x4x16xbf16>, %s: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.attention' op 'sinks' has element type 'bf16'}}
  %0, %l = graph.attention %q, %q, %q sinks %s : (tensor<?x8x4x16xbf16>, tensor<?x8x4x16xbf16>, tensor<?x8x4x16xbf16>, tensor<4xbf16>) -> (tensor<?x8x4x16xbf16>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_grad_c2
graph.func @attention_grad_c2(%q: tensor<?x8x4x16xf32>, %l: tensor<?x4x8xf32>, %d: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.attention_grad' op dim 1 of 'dlse' is 8, but dim 1 of 'lse' is 4}}
  %0:3 = graph.attention_grad %q, %q, %q, %q, %l, %q dlse %d scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>)
  graph.return
}

// -----

// attention_c5_value_dim
graph.func @attention_c5_value_dim(%q: tensor<?x8x4x16xf32>, %v: tensor<?x8x4x24xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 3 of 'result' is 16, but dim 3 of 'v' is 24}}
  %0, %l = graph.attention %q, %q, %v scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x24xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  graph.return
}

// -----

// attention_c16
graph.func @attention_c16(%q: tensor<6x8x4x16xf32>, %n: tensor<5xi32>) {
  // expected-error @+1 {{'graph.attention' op dim 0 of 'lengths' is 5, but dim 0 of 'q' is 6}}
  %0 = graph.attention %q, %q, %q lengths %n : (tensor<6x8x4x16xf32>, tensor<6x8x4x16xf32>, tensor<6x8x4x16xf32>, tensor<5xi32>) -> tensor<6x8x4x16xf32>
  graph.return
}

// -----

// attention_c17
graph.func @attention_c17(%q: tensor<?x8x4x16xf32>, %b: tensor<?x2x8x8xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 1 of 'bias' is 2, but 1 or dim 2 of 'q', which is 4, is wanted}}
  %0 = graph.attention %q, %q, %q bias %b : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x2x8x8xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c17_dims
graph.func @attention_c17_dims(%q: tensor<?x8x4x16xf32>, %b: tensor<8x8xf32>) {
  // expected-error @+1 {{'graph.attention' op 'bias' has 2 dims, but 4 are wanted}}
  %0 = graph.attention %q, %q, %q bias %b : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<8x8xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c18
graph.func @attention_c18(%q: tensor<?x8x4x16xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{'graph.attention' op dim 0 of 'slopes' is 2, but dim 2 of 'q' is 4}}
  %0 = graph.attention %q, %q, %q slopes %s : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<2xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c19
graph.func @attention_c19(%q: tensor<?x8x4x16xf32>) {
  // expected-error @+1 {{'graph.attention' op 'prefix' is 9, but 1 to 8 keys are wanted}}
  %0 = graph.attention %q, %q, %q causal prefix 9 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c19_full
graph.func @attention_c19_full(%q: tensor<?x8x4x16xf32>) {
  // expected-error @+1 {{'graph.attention' op has a 'prefix', but is not 'causal'}}
  %0 = graph.attention %q, %q, %q prefix 3 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c19_sliding
graph.func @attention_c19_sliding(%q: tensor<?x8x4x16xf32>) {
  // expected-error @+1 {{'graph.attention' op has a 'prefix', but is 'sliding'}}
  %0 = graph.attention %q, %q, %q causal sliding 2 prefix 3 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c20
graph.func @attention_c20(%q: tensor<?x8x4x16xf32>, %d: tensor<?x7xi32>) {
  // expected-error @+1 {{'graph.attention' op dim 1 of 'documents' is 7, but dim 1 of 'k' is 8}}
  %0 = graph.attention %q, %q, %q documents %d causal : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x7xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c20_keys
graph.func @attention_c20_keys(%q: tensor<?x8x4x16xf32>, %k: tensor<?x7x4x16xf32>, %d: tensor<?x7xi32>) {
  // expected-error @+1 {{'graph.attention' op has 'documents' and 8 queries, but only 7 keys, so that early queries have no document}}
  %0 = graph.attention %q, %k, %k documents %d : (tensor<?x8x4x16xf32>, tensor<?x7x4x16xf32>, tensor<?x7x4x16xf32>, tensor<?x7xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c20_prefix
graph.func @attention_c20_prefix(%q: tensor<?x8x4x16xf32>, %d: tensor<?x8xi32>) {
  // expected-error @+1 {{'graph.attention' op has 'documents' and a 'prefix', which all of them would see}}
  %0 = graph.attention %q, %q, %q documents %d causal prefix 3 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c21
graph.func @attention_c21(%q: tensor<?x8x4x16xf32>, %s: tensor<3xi32>) {
  // expected-error @+1 {{'graph.attention' op 'starts' has 3 elements, but the positions of the first query and of the first key are wanted}}
  %0 = graph.attention %q, %q, %q starts %s causal : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<3xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c21_dims
graph.func @attention_c21_dims(%q: tensor<?x8x4x16xf32>, %s: tensor<?x2xi32>) {
  // expected-error @+1 {{'graph.attention' op 'starts' has 2 dims, but 1 are wanted}}
  %0 = graph.attention %q, %q, %q starts %s causal : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x2xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c21_documents
graph.func @attention_c21_documents(%q: tensor<?x8x4x16xf32>, %d: tensor<?x8xi32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'graph.attention' op has 'starts' and 'documents', which indexes keys by where the op has them}}
  %0 = graph.attention %q, %q, %q documents %d starts %s causal : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8xi32>, tensor<2xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_c21_dropout
graph.func @attention_c21_dropout(%q: tensor<?x8x4x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{'graph.attention' op has 'starts' and 'dropout', which indexes keys by where the op has them}}
  %0 = graph.attention %q, %q, %q starts %s causal dropout 0.1 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<2xi32>) -> tensor<?x8x4x16xf32>
  graph.return
}

// -----

// attention_grad_c3
graph.func @attention_grad_c3(%q: tensor<?x8x4x16xf32>, %l: tensor<?x4x8xf32>) {
  // expected-error @+1 {{'graph.attention_grad' op has 'dbias', but no 'bias'}}
  %0:4 = graph.attention_grad %q, %q, %q, %q, %l, %q scale 0.25 : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x4x8xf32>, tensor<?x8x4x16xf32>) -> (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<1x4x8x8xf32>)
  graph.return
}
