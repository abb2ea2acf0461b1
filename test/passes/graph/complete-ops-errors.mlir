// RUN: dtc-opt %s --dtc-differentiate -verify-diagnostics

// Short forms lack what gradients are built from.
graph.func @loss(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> tensor<f32> {
  // expected-error @+1 {{'graph.rms_norm' op is in its short form, which dtc-complete-ops writes out first}}
  %y = graph.rms_norm %x, %w : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %l = graph.reduce mean %y dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}
