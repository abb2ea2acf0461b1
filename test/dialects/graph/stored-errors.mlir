// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// round_randomly_c1
graph.func @round_randomly_c1(%m: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.round_randomly' op rounds 1 values to 2 results, but one or two of each are wanted}}
  %a, %b = graph.round_randomly %m id 1 key(%seed, %step) : tensor<4xf32> to tensor<4xbf16>, tensor<4xbf16>
  graph.return
}

// -----

// round_randomly_c1
graph.func @round_randomly_c1_types(%m: tensor<4xf32>, %v: tensor<5xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.round_randomly' op rounds 'tensor<5xf32>', but one type in f32 is wanted}}
  %a, %b = graph.round_randomly %m, %v id 1 key(%seed, %step) : tensor<4xf32>, tensor<5xf32> to tensor<4xbf16>, tensor<5xbf16>
  graph.return
}

// -----

// round_randomly_c2
graph.func @round_randomly_c2(%m: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.round_randomly' op rounds 'tensor<4xf32>' to 'tensor<4xf16>', but the same shape in bf16 is wanted}}
  %a = graph.round_randomly %m id 1 key(%seed, %step) : tensor<4xf32> to tensor<4xf16>
  graph.return
}

// -----

// round_randomly_c3
graph.func @round_randomly_c3(%m: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.round_randomly' op has a 'global_shape' of 2 dims, but 1 are wanted}}
  %a = graph.round_randomly %m id 1 key(%seed, %step) {global_shape = array<i64: 4, 4>} : tensor<4xf32> to tensor<4xbf16>
  graph.return
}

// -----

// round_randomly_c4
graph.func @round_randomly_c4(%m: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{entry 0 of 'windows' is}}
  %a = graph.round_randomly %m id 1 key(%seed, %step) {windows = [3]} : tensor<4xf32> to tensor<4xbf16>
  graph.return
}

// -----

// decode_moments_c1
graph.func @decode_moments_c1(%c: tensor<2x128xi8>, %l: tensor<2x2xf32>) {
  // expected-error @+1 {{'graph.decode_moments' op dim 1 of 'largest' is 2, but that of a block is 1}}
  %m, %v = graph.decode_moments %c, %c largest %l, %l : tensor<2x128xi8>, tensor<2x2xf32> to tensor<2x128xf32>
  graph.return
}

// -----

// decode_moments_c2
graph.func @decode_moments_c2(%c: tensor<2x128xi8>, %l: tensor<2x1xf32>) {
  // expected-error @+1 {{'graph.decode_moments' op dim 0 of 'exp_avg' is 3, but dim 0 of 'codes' is 2}}
  %m, %v = graph.decode_moments %c, %c largest %l, %l : tensor<2x128xi8>, tensor<2x1xf32> to tensor<3x128xf32>
  graph.return
}

// -----

// encode_moments_c1
graph.func @encode_moments_c1(%m: tensor<2x128xf32>, %l: tensor<3x1xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.encode_moments' op dim 0 of 'largest' is 3, but dim 0 of 'codes' is 2}}
  %c, %d = graph.encode_moments %m, %m largest %l, %l id 1 key(%seed, %step) : tensor<2x128xf32>, tensor<3x1xf32> to tensor<2x128xi8>
  graph.return
}

// -----

// encode_moments_c2
graph.func @encode_moments_c2(%m: tensor<2x128xf32>, %l: tensor<2x1xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.encode_moments' op dim 1 of 'codes' is 64, but dim 1 of 'exp_avg' is 128}}
  %c, %d = graph.encode_moments %m, %m largest %l, %l id 1 key(%seed, %step) : tensor<2x128xf32>, tensor<2x1xf32> to tensor<2x64xi8>
  graph.return
}

// -----

// encode_moments_c3
graph.func @encode_moments_c3(%m: tensor<2x128xf32>, %l: tensor<2x1xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{'graph.encode_moments' op has dim 0 of 'global_shape' of 0, but 1 or more is wanted}}
  %c, %d = graph.encode_moments %m, %m largest %l, %l id 1 key(%seed, %step) {global_shape = array<i64: 0, 128>} : tensor<2x128xf32>, tensor<2x1xf32> to tensor<2x128xi8>
  graph.return
}

// -----

// encode_moments_c4
graph.func @encode_moments_c4(%m: tensor<2x128xf32>, %l: tensor<2x1xf32>, %seed: tensor<i64>, %step: tensor<f32>) {
  // expected-error @+1 {{entry 0 of 'windows' is}}
  %c, %d = graph.encode_moments %m, %m largest %l, %l id 1 key(%seed, %step) {windows = [3]} : tensor<2x128xf32>, tensor<2x1xf32> to tensor<2x128xi8>
  graph.return
}

// -----

// state_c5
// expected-note @+1 {{the parameter is here}}
graph.parameter @w : tensor<8x256xf32> init zeros
// expected-error @+1 {{'graph.state' op has type 'tensor<8x4xf32>', but its parameter 'w' has 'tensor<8x256xf32>'; want one shape, with a number for each 128 elements of the last dim}}
graph.state @w.exp_avg_largest of @w : tensor<8x4xf32> {graph.block = 128 : i64}
