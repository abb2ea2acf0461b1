// Every constraint of the ops of mixtures of experts without drops, once each.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// route_c1
graph.func @route_c1(%l: tensor<8x4xf32>) {
  // expected-error @+1 {{'graph.route' op 'logits' has 2 dims, but 3 are wanted}}
  %0:2 = graph.route %l top 2 : (tensor<8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c2
graph.func @route_c2(%l: tensor<?x8x4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{'graph.route' op dim 0 of 'bias' is 5, but dim 2 of 'logits' is 4}}
  %0:2 = graph.route %l bias %b top 2 : (tensor<?x8x4xf32>, tensor<5xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c3
graph.func @route_c3(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op 'score' is 'tanh', but softmax, sigmoid or sqrtsoftplus is wanted}}
  %0:2 = graph.route %l top 2 score "tanh" : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c4
graph.func @route_c4(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op keeps 1 of 3 groups, but a divisor of the experts, 4, and at most 64, is wanted, and to keep 1 to all of them}}
  %0:2 = graph.route %l top 2 groups 3 : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c5
graph.func @route_c5(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op 'members' is 3, but 1 or 2 is wanted, and no more than a group's 4 experts}}
  %0:2 = graph.route %l top 2 members 3 : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c6
graph.func @route_c6(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op chooses the top 3, but 1 to 2 is wanted}}
  %0:2 = graph.route %l top 3 groups 2 kept 1 : (tensor<?x8x4xf32>) -> (tensor<?x8x3xf32>, tensor<?x8x3xi32>)
  graph.return
}

// -----

// route_c7
graph.func @route_c7(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op 'epsilon' is 0.1, but 0 or more is wanted, and 0 for a softmax}}
  %0:2 = graph.route %l top 2 normalised epsilon 0.1 : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c8
graph.func @route_c8(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op 'scale' is inf, but a number is wanted}}
  %0:2 = graph.route %l top 2 scale 0x7FF0000000000000 : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi32>)
  graph.return
}

// -----

// route_c9
graph.func @route_c9(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op dim 2 of 'weights' is 2, but 'top' is 1}}
  %0:2 = graph.route %l top 1 : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x1xi32>)
  graph.return
}

// -----

// route_c10
graph.func @route_c10(%l: tensor<?x8x4xf32>) {
  // expected-error @+1 {{'graph.route' op 'experts' has element type 'i64', but i32 is wanted}}
  %0:2 = graph.route %l top 2 : (tensor<?x8x4xf32>) -> (tensor<?x8x2xf32>, tensor<?x8x2xi64>)
  graph.return
}

// -----

// route_grad_c1
graph.func @route_grad_c1(%l: tensor<8x4xf32>, %e: tensor<?x8x2xi32>, %w: tensor<?x8x2xf32>) {
  // expected-error @+1 {{'graph.route_grad' op 'logits' has 2 dims, but 3 are wanted}}
  %0 = graph.route_grad %l, %e, %w : (tensor<8x4xf32>, tensor<?x8x2xi32>, tensor<?x8x2xf32>) -> tensor<8x4xf32>
  graph.return
}

// -----

// route_grad_c2
graph.func @route_grad_c2(%l: tensor<?x8x4xf32>, %e: tensor<?x7x2xi32>, %w: tensor<?x8x2xf32>) {
  // expected-error @+1 {{'graph.route_grad' op dim 1 of 'experts' is 7, but dim 1 of 'logits' is 8}}
  %0 = graph.route_grad %l, %e, %w : (tensor<?x8x4xf32>, tensor<?x7x2xi32>, tensor<?x8x2xf32>) -> tensor<?x8x4xf32>
  graph.return
}

// -----

// route_grad_c3
graph.func @route_grad_c3(%l: tensor<?x8x4xf32>, %e: tensor<?x8x2xi32>, %w: tensor<?x8x3xf32>) {
  // expected-error @+1 {{'graph.route_grad' op dim 2 of 'dweights' is 3, but dim 2 of 'experts' is 2}}
  %0 = graph.route_grad %l, %e, %w : (tensor<?x8x4xf32>, tensor<?x8x2xi32>, tensor<?x8x3xf32>) -> tensor<?x8x4xf32>
  graph.return
}

// -----

// route_grad_c4
graph.func @route_grad_c4(%l: tensor<?x8x4xf32>, %e: tensor<?x8x2xi32>, %w: tensor<?x8x2xf32>) {
  // expected-error @+1 {{'graph.route_grad' op 'score' is 'tanh', but softmax, sigmoid or sqrtsoftplus is wanted}}
  %0 = graph.route_grad %l, %e, %w score "tanh" : (tensor<?x8x4xf32>, tensor<?x8x2xi32>, tensor<?x8x2xf32>) -> tensor<?x8x4xf32>
  graph.return
}

// -----

// route_grad_c5
graph.func @route_grad_c5(%l: tensor<?x8x4xf32>, %e: tensor<?x8x2xi32>, %w: tensor<?x8x2xf32>) {
  // expected-error @+1 {{'graph.route_grad' op dim 2 of 'result' is 5, but dim 2 of 'logits' is 4}}
  %0 = graph.route_grad %l, %e, %w : (tensor<?x8x4xf32>, tensor<?x8x2xi32>, tensor<?x8x2xf32>) -> tensor<?x8x5xf32>
  graph.return
}

// -----

// place_rows_c1
graph.func @place_rows_c1(%e: tensor<?x8xi32>) {
  // expected-error @+1 {{'graph.place_rows' op 'experts' has 2 dims, but 3 are wanted}}
  %0:2 = graph.place_rows %e : (tensor<?x8xi32>) -> (tensor<?x8x2xi32>, tensor<?x4xi32>)
  graph.return
}

// -----

// place_rows_c2
graph.func @place_rows_c2(%e: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.place_rows' op dim 2 of 'rowOf' is 3, but dim 2 of 'experts' is 2}}
  %0:2 = graph.place_rows %e : (tensor<?x8x2xi32>) -> (tensor<?x8x3xi32>, tensor<?x4xi32>)
  graph.return
}

// -----

// place_rows_c3
graph.func @place_rows_c3(%e: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.place_rows' op 'counts' has element type 'i64', but i32 is wanted}}
  %0:2 = graph.place_rows %e : (tensor<?x8x2xi32>) -> (tensor<?x8x2xi32>, tensor<?x4xi64>)
  graph.return
}

// -----

// pack_rows_c1
graph.func @pack_rows_c1(%x: tensor<?x8xf32>, %p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.pack_rows' op 'tokens' has 2 dims, but 3 are wanted}}
  %0 = graph.pack_rows %x at %p : (tensor<?x8xf32>, tensor<?x8x2xi32>) -> tensor<4x?x4x6xf32>
  graph.return
}

// -----

// pack_rows_c2
graph.func @pack_rows_c2(%x: tensor<?x8x6xf32>, %p: tensor<?x7x2xi32>) {
  // expected-error @+1 {{'graph.pack_rows' op dim 1 of 'rowOf' is 7, but dim 1 of 'tokens' is 8}}
  %0 = graph.pack_rows %x at %p : (tensor<?x8x6xf32>, tensor<?x7x2xi32>) -> tensor<4x?x4x6xf32>
  graph.return
}

// -----

// pack_rows_c3
graph.func @pack_rows_c3(%x: tensor<?x8x6xf32>, %p: tensor<?x8x2xi32>, %w: tensor<?x8x3xf32>) {
  // expected-error @+1 {{'graph.pack_rows' op dim 2 of 'weights' is 3, but dim 2 of 'rowOf' is 2}}
  %0 = graph.pack_rows %x at %p weighted %w : (tensor<?x8x6xf32>, tensor<?x8x2xi32>, tensor<?x8x3xf32>) -> tensor<4x?x4x6xf32>
  graph.return
}

// -----

// pack_rows_c4
graph.func @pack_rows_c4(%x: tensor<?x8x6xf32>, %p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.pack_rows' op dim 2 of 'result' is 5, but the mean of rows for each of 4 experts is 4}}
  %0 = graph.pack_rows %x at %p : (tensor<?x8x6xf32>, tensor<?x8x2xi32>) -> tensor<4x?x5x6xf32>
  graph.return
}

// -----

// pack_rows_c5
graph.func @pack_rows_c5(%x: tensor<?x8x6xf32>, %p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.pack_rows' op has experts that are split over ranks, which it has no kernels for yet}}
  %0 = graph.pack_rows %x at %p {windows = [#graph.window<loop = 0, local = 4, global = 8, axes = [1]>]} : (tensor<?x8x6xf32>, tensor<?x8x2xi32>) -> tensor<4x?x4x6xf32>
  graph.return
}

// -----

// grouped_linear_c1
graph.func @grouped_linear_c1(%x: tensor<4x?x4xf32>, %w: tensor<4x5x6xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear' op 'x' has 3 dims, but at least 4 are wanted}}
  %0 = graph.grouped_linear %x, %w transposed by %n : (tensor<4x?x4xf32>, tensor<4x5x6xf32>, tensor<?x4xi32>) -> tensor<4x?x4x5xf32>
  graph.return
}

// -----

// grouped_linear_c2
graph.func @grouped_linear_c2(%x: tensor<4x?x4x6xf32>, %w: tensor<4x5x6xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear' op dim 2 of 'result' is 3, but dim 2 of 'x' is 4}}
  %0 = graph.grouped_linear %x, %w transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x5x6xf32>, tensor<?x4xi32>) -> tensor<4x?x3x5xf32>
  graph.return
}

// -----

// grouped_linear_c3
graph.func @grouped_linear_c3(%x: tensor<4x?x4x6xf32>, %w: tensor<4x7x6xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear' op dim 1 of 'weight' is 7, but dim 3 of 'result' is 5}}
  %0 = graph.grouped_linear %x, %w transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x7x6xf32>, tensor<?x4xi32>) -> tensor<4x?x4x5xf32>
  graph.return
}

// -----

// grouped_linear_c4
graph.func @grouped_linear_c4(%x: tensor<4x?x4x6xf32>, %w: tensor<4x5x6xf32>, %n: tensor<?x3xi32>) {
  // expected-error @+1 {{'graph.grouped_linear' op dim 1 of 'counts' is 3, but dim 0 of 'x' is 4}}
  %0 = graph.grouped_linear %x, %w transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x5x6xf32>, tensor<?x3xi32>) -> tensor<4x?x4x5xf32>
  graph.return
}

// -----

// grouped_linear_c5
graph.func @grouped_linear_c5(%x: tensor<4x?x4x6xf32>, %w: tensor<4x5x6xbf16>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear' op 'weight' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.grouped_linear %x, %w transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x5x6xbf16>, tensor<?x4xi32>) -> tensor<4x?x4x5xf32>
  graph.return
}

// -----

// grouped_linear_c6
graph.func @grouped_linear_c6(%x: tensor<4x?x4x6xf32>, %w: tensor<4x5x6xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear' op 'result' has element type 'bf16'}}
  %0 = graph.grouped_linear %x, %w transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x5x6xf32>, tensor<?x4xi32>) -> tensor<4x?x4x5xbf16>
  graph.return
}

// -----

// grouped_linear_weight_grad_c1
graph.func @grouped_linear_weight_grad_c1(%x: tensor<4x?x4xf32>, %d: tensor<4x?x4x5xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear_weight_grad' op 'x' has 3 dims, but at least 4 are wanted}}
  %0 = graph.grouped_linear_weight_grad %x, %d transposed by %n : (tensor<4x?x4xf32>, tensor<4x?x4x5xf32>, tensor<?x4xi32>) -> tensor<4x5x6xf32>
  graph.return
}

// -----

// grouped_linear_weight_grad_c2
graph.func @grouped_linear_weight_grad_c2(%x: tensor<4x?x4x6xf32>, %d: tensor<4x?x3x5xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear_weight_grad' op dim 2 of 'dy' is 3, but dim 2 of 'x' is 4}}
  %0 = graph.grouped_linear_weight_grad %x, %d transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x?x3x5xf32>, tensor<?x4xi32>) -> tensor<4x5x6xf32>
  graph.return
}

// -----

// grouped_linear_weight_grad_c3
graph.func @grouped_linear_weight_grad_c3(%x: tensor<4x?x4x6xf32>, %d: tensor<4x?x4x5xf32>, %n: tensor<?x3xi32>) {
  // expected-error @+1 {{'graph.grouped_linear_weight_grad' op dim 1 of 'counts' is 3, but dim 0 of 'x' is 4}}
  %0 = graph.grouped_linear_weight_grad %x, %d transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x?x4x5xf32>, tensor<?x3xi32>) -> tensor<4x5x6xf32>
  graph.return
}

// -----

// grouped_linear_weight_grad_c4
graph.func @grouped_linear_weight_grad_c4(%x: tensor<4x?x4x6xf32>, %d: tensor<4x?x4x5xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear_weight_grad' op dim 1 of 'result' is 7, but dim 3 of 'dy' is 5}}
  %0 = graph.grouped_linear_weight_grad %x, %d transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x?x4x5xf32>, tensor<?x4xi32>) -> tensor<4x7x6xf32>
  graph.return
}

// -----

// grouped_linear_weight_grad_c5
graph.func @grouped_linear_weight_grad_c5(%x: tensor<4x?x4x6xf32>, %d: tensor<4x?x4x5xbf16>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear_weight_grad' op 'dy' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.grouped_linear_weight_grad %x, %d transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x?x4x5xbf16>, tensor<?x4xi32>) -> tensor<4x5x6xf32>
  graph.return
}

// -----

// grouped_linear_weight_grad_c6
graph.func @grouped_linear_weight_grad_c6(%x: tensor<4x?x4x6xf32>, %d: tensor<4x?x4x5xf32>, %n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.grouped_linear_weight_grad' op 'result' has element type 'bf16'}}
  %0 = graph.grouped_linear_weight_grad %x, %d transposed by %n : (tensor<4x?x4x6xf32>, tensor<4x?x4x5xf32>, tensor<?x4xi32>) -> tensor<4x5x6xbf16>
  graph.return
}

// -----

// unpack_rows_c1
graph.func @unpack_rows_c1(%r: tensor<4x?x4x6xf32>, %p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.unpack_rows' op 'result' has 2 dims, but 3 are wanted}}
  %0 = graph.unpack_rows %r at %p : (tensor<4x?x4x6xf32>, tensor<?x8x2xi32>) -> tensor<?x48xf32>
  graph.return
}

// -----

// unpack_rows_c2
graph.func @unpack_rows_c2(%r: tensor<4x?x4x6xf32>, %p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.unpack_rows' op dim 1 of 'rowOf' is 8, but dim 1 of 'result' is 7}}
  %0 = graph.unpack_rows %r at %p : (tensor<4x?x4x6xf32>, tensor<?x8x2xi32>) -> tensor<?x7x6xf32>
  graph.return
}

// -----

// unpack_rows_c3
graph.func @unpack_rows_c3(%r: tensor<4x?x4x6xf32>, %p: tensor<?x8x2xi32>, %w: tensor<?x8x3xf32>) {
  // expected-error @+1 {{'graph.unpack_rows' op dim 2 of 'weights' is 3, but dim 2 of 'rowOf' is 2}}
  %0 = graph.unpack_rows %r at %p weighted %w : (tensor<4x?x4x6xf32>, tensor<?x8x2xi32>, tensor<?x8x3xf32>) -> tensor<?x8x6xf32>
  graph.return
}

// -----

// unpack_weight_grad_c2
graph.func @unpack_weight_grad_c2(%r: tensor<4x?x4x6xf32>, %p: tensor<?x8x2xi32>, %d: tensor<?x8x6xf32>) {
  // expected-error @+1 {{'graph.unpack_weight_grad' op dim 2 of 'result' is 3, but dim 2 of 'rowOf' is 2}}
  %0 = graph.unpack_weight_grad %r at %p, %d : (tensor<4x?x4x6xf32>, tensor<?x8x2xi32>, tensor<?x8x6xf32>) -> tensor<?x8x3xf32>
  graph.return
}
