// Errors of batch norm and of the ops about state: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// batch_norm_c1
graph.func @batch_norm_c1(%x: tensor<6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{'x' has 1 dims, but at least 2 are wanted}}
  %0 = graph.batch_norm %x, %w, %w : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  graph.return
}

// -----

// batch_norm_c1_batch
graph.func @batch_norm_c1_batch(%x: tensor<6x?xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{has the batch as dim 1 of 'x', where its channels are wanted}}
  %0 = graph.batch_norm %x, %w, %w : (tensor<6x?xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x?xf32>
  graph.return
}

// -----

// batch_norm_c2
graph.func @batch_norm_c2(%x: tensor<?x6xf32>, %w: tensor<6xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{dim 0 of 'bias' is 5, but dim 1 of 'x' is 6}}
  %0 = graph.batch_norm %x, %w, %b : (tensor<?x6xf32>, tensor<6xf32>, tensor<5xf32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_norm_c2_type
graph.func @batch_norm_c2_type(%x: tensor<?x6xf32>, %w: tensor<6xbf16>, %b: tensor<6xf32>) {
  // expected-error @+1 {{bf16}}
  %0 = graph.batch_norm %x, %w, %b : (tensor<?x6xf32>, tensor<6xbf16>, tensor<6xf32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_norm_c3
graph.func @batch_norm_c3(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{has 2 tensors as 'state', but none or 3 are wanted}}
  %0 = graph.batch_norm %x, %w, %w state %w, %w
      : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_norm_c3_count
graph.func @batch_norm_c3_count(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{'state' has 1 dims, but 0 are wanted}}
  %0 = graph.batch_norm %x, %w, %w state %w, %w, %w
      : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_norm_c4
graph.func @batch_norm_c4(%x: tensor<?x6xf32>, %w: tensor<6xf32>, %n: tensor<f32>) {
  // expected-error @+1 {{momentum}}
  %0 = graph.batch_norm %x, %w, %w state %w, %w, %n momentum 1.5
      : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<f32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_norm_c5
graph.func @batch_norm_c5(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{has a momentum, but no state that it is about}}
  %0 = graph.batch_norm %x, %w, %w momentum 0.1 : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_norm_c6
graph.func @batch_norm_c6(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{'epsilon' is 0, but a number above 0 and below 1 is wanted}}
  %0 = graph.batch_norm %x, %w, %w epsilon 0.0 : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6xf32>
  graph.return
}

// -----

// batch_normalise_c4
graph.func @batch_normalise_c4(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{dim 0 of 'variance' is 5, but dim 1 of 'x' is 6}}
  %0:4 = graph.batch_normalise %x, %w, %w : (tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> (tensor<?x6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>)
  graph.return
}

// -----

// observe_c1
graph.func @observe_c1(%x: tensor<?x6xf32>, %w: tensor<6xbf16>) {
  // expected-error @+1 {{'state'}}
  %0 = graph.observe mean %x, %w, %w : tensor<?x6xf32>, tensor<6xbf16>
  graph.return
}

// -----

// observe_c2
graph.func @observe_c2(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{moves at a 'rate' by the mean or the sum of its value, not by 'max'}}
  %0 = graph.observe max %x, %w, %w rate 0.5 : tensor<?x6xf32>, tensor<6xf32>
  graph.return
}

// -----

// observe_c3
graph.func @observe_c3(%x: tensor<?x6xf32>, %w: tensor<6xf32>) {
  // expected-error @+1 {{has a 'rate' of 0, but a number greater than 0 is wanted}}
  %0 = graph.observe sum %x, %w, %w rate 0.0 : tensor<?x6xf32>, tensor<6xf32>
  graph.return
}
