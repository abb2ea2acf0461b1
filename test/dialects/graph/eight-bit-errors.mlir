// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// amax_c1
graph.func @amax_c1(%x: tensor<4x8xbf16>) {
  // expected-error @+1 {{'graph.amax' op}}
  %a = graph.amax %x : tensor<4x8xbf16> -> tensor<8xf32>
  graph.return
}

// -----

// amax_c1
graph.func @amax_c1_dims(%x: tensor<4xbf16>) {
  // expected-error @+1 {{'graph.amax' op}}
  %a = graph.amax %x : tensor<4xbf16> -> tensor<4x8xf32>
  graph.return
}

// -----

// amax_c2
graph.func @amax_c2(%x: tensor<4x8xbf16>) {
  // expected-error @+1 {{'graph.amax' op}}
  %a = graph.amax %x : tensor<4x8xbf16> -> tensor<bf16>
  graph.return
}

// -----

// quantise_c1
graph.func @quantise_c1(%x: tensor<4xf16>, %a: tensor<f32>) {
  // expected-error @+1 {{'graph.quantise' op rounds f16, whose exponents are fewer than those of a scale; f32 or bf16 is wanted}}
  %q = graph.quantise e4m3 %x by %a : tensor<4xf16>
  graph.return
}

// -----

// quantise_gradient_c1
graph.func @quantise_gradient_c1(%x: tensor<4xf16>) {
  // expected-error @+1 {{'graph.quantise_gradient' op rounds f16, whose exponents are fewer than those of a scale; f32 or bf16 is wanted}}
  %q = graph.quantise_gradient e5m2 %x : tensor<4xf16>
  graph.return
}
