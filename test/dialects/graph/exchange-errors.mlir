// Every constraint of the ops of rows of experts that are on several ranks, once each.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// place_rows_c4
graph.func @place_rows_c4(%e: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.place_rows' op is for experts on 3 ranks, but a divisor of their number is wanted}}
  %0:2 = graph.place_rows %e ranks 3 : (tensor<?x8x2xi32>) -> (tensor<?x8x2xi32>, tensor<?x4xi32>)
  graph.return
}

// -----

// pack_rows_c4
graph.func @pack_rows_c4(%x: tensor<?x8x4xf32>, %p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.pack_rows' op dim 2 of 'result' is 17, but the mean of rows for each of 2 experts is 16}}
  %0 = graph.pack_rows %x at %p blocks : (tensor<?x8x4xf32>, tensor<?x8x2xi32>) -> tensor<2x?x17x4xf32>
  graph.return
}

// -----

// round_rows_c1
graph.func @round_rows_c1(%p: tensor<?x?x2xi32>) {
  // expected-error @+1 {{'graph.round_rows' op dim 1 of 'rowOf' is dynamic; only the batch may be}}
  %0 = graph.round_rows %p round 0 room 4 : tensor<?x?x2xi32>
  graph.return
}

// -----

// round_rows_c2
graph.func @round_rows_c2(%p: tensor<?x8x2xi32>) {
  // expected-error @+1 {{'graph.round_rows' op is for round 2 of blocks with room for 8 rows, but room for 1 to all 16 choices of a sample is wanted, and a round that has some of them}}
  %0 = graph.round_rows %p round 2 room 8 : tensor<?x8x2xi32>
  graph.return
}

// -----

// round_counts_c1
graph.func @round_counts_c1(%n: tensor<?x8xi32>) {
  // expected-error @+1 {{'graph.round_counts' op is for 3 experts on a rank, but a divisor of their number is wanted}}
  %0 = graph.round_counts %n experts 3 round 0 room 8 : tensor<?x8xi32>
  graph.return
}

// -----

// round_counts_c2
graph.func @round_counts_c2(%n: tensor<?x8xi32>) {
  // expected-error @+1 {{'graph.round_counts' op is for round 0 of blocks with room for 0 rows, but a round from 0 on and room for 1 or more are wanted}}
  %0 = graph.round_counts %n experts 4 round 0 room 0 : tensor<?x8xi32>
  graph.return
}

// -----

// exchange_c1
graph.func @exchange_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.exchange' op moves a split from dim 0 to dim 2 of 2, but two of them are wanted}}
  %0 = graph.exchange %x from 0 to 2 : tensor<?x8xf32>
  graph.return
}

// -----

// place_blocks_c1
graph.func @place_blocks_c1(%n: tensor<?x4xi64>) {
  // expected-error @+1 {{'graph.place_blocks' op 'counts' has element type 'i64', but i32 is wanted}}
  %0 = graph.place_blocks %n : (tensor<?x4xi64>) -> tensor<2x?x16xi32>
  graph.return
}

// -----

// place_blocks_c2
graph.func @place_blocks_c2(%n: tensor<4x4xi32>) {
  // expected-error @+1 {{'graph.place_blocks' op dim 1 of 'result' is 3, but dim 0 of 'counts' is 4}}
  %0 = graph.place_blocks %n : (tensor<4x4xi32>) -> tensor<2x3x16xi32>
  graph.return
}

// -----

// place_blocks_c3
graph.func @place_blocks_c3(%n: tensor<?x4xi32>) {
  // expected-error @+1 {{'graph.place_blocks' op has no number of experts that its 3 ranks divide}}
  %0 = graph.place_blocks %n : (tensor<?x4xi32>) -> tensor<3x?x16xi32>
  graph.return
}

// -----

// sort_rows_c1
graph.func @sort_rows_c1(%b: tensor<2x?x16xf32>, %p: tensor<2x?x16xi32>) {
  // expected-error @+1 {{'graph.sort_rows' op 'blocks' has 3 dims, but 4 are wanted}}
  %0 = graph.sort_rows %b at %p : (tensor<2x?x16xf32>, tensor<2x?x16xi32>) -> tensor<4x?x8x4xf32>
  graph.return
}

// -----

// sort_rows_c2
graph.func @sort_rows_c2(%b: tensor<2x?x16x4xf32>, %p: tensor<2x?x8xi32>) {
  // expected-error @+1 {{'graph.sort_rows' op dim 2 of 'rowOf' is 8, but dim 2 of 'blocks' is 16}}
  %0 = graph.sort_rows %b at %p : (tensor<2x?x16x4xf32>, tensor<2x?x8xi32>) -> tensor<4x?x8x4xf32>
  graph.return
}

// -----

// sort_rows_c3
graph.func @sort_rows_c3(%b: tensor<2x?x16x4xf32>, %p: tensor<2x?x16xi32>) {
  // expected-error @+1 {{'graph.sort_rows' op has 3 experts, which 2 ranks do not divide}}
  %0 = graph.sort_rows %b at %p : (tensor<2x?x16x4xf32>, tensor<2x?x16xi32>) -> tensor<3x?x16x4xf32>
  graph.return
}

// -----

// sort_rows_c4
graph.func @sort_rows_c4(%b: tensor<2x?x16x4xf32>, %p: tensor<2x?x16xi32>) {
  // expected-error @+1 {{'graph.sort_rows' op 'result' has 28 rows for each sample, but blocks have 32}}
  %0 = graph.sort_rows %b at %p : (tensor<2x?x16x4xf32>, tensor<2x?x16xi32>) -> tensor<4x?x7x4xf32>
  graph.return
}

// -----

// unsort_rows_c1
graph.func @unsort_rows_c1(%r: tensor<4x?x8x4xf32>, %p: tensor<2x?x16xi32>) {
  // expected-error @+1 {{'graph.unsort_rows' op 'rows' has element type 'f32', but 'result' has 'bf16'}}
  %0 = graph.unsort_rows %r at %p : (tensor<4x?x8x4xf32>, tensor<2x?x16xi32>) -> tensor<2x?x16x4xbf16>
  graph.return
}
