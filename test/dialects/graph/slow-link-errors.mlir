// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// addends_c1
graph.func @addends_c1(%g: tensor<8x16xf32>) {
  // expected-error @+1 {{'graph.addends' op 'ranks' is 1, but 2 or more is wanted}}
  %each = graph.addends %g ranks 1 : tensor<8x16xf32> -> tensor<1x8x16xf32>
  graph.return
}

// -----

// addends_c2
graph.func @addends_c2(%g: tensor<8x16xf32>) {
  // expected-error @+1 {{'graph.addends' op result has type 'tensor<2x8x16xf32>', but 'tensor<4x8x16xf32>' is wanted}}
  %each = graph.addends %g ranks 4 : tensor<8x16xf32> -> tensor<2x8x16xf32>
  graph.return
}

// -----

// state_c5
// expected-note @+1 {{the parameter is here}}
graph.parameter @w : tensor<8x16xf32> init zeros
// expected-error @+1 {{'graph.state' op has type 'tensor<4x8x8xf32>', but its parameter 'w' has 'tensor<8x16xf32>'; want one shape, behind a first dim of ranks}}
graph.state @w.compress_error of @w : tensor<4x8x8xf32> {graph.by_rank}
