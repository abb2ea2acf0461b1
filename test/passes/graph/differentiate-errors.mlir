// RUN: dtc-opt %s --dtc-differentiate -split-input-file -verify-diagnostics

// expected-error @+1 {{the module has no function '@loss' to differentiate}}
module {}

// -----

module {
  // expected-error @+1 {{must take tokens and targets and return one tensor<f32>, the mean loss}}
  graph.func @loss(%tokens: tensor<2x4xi32>) -> tensor<f32> {
    %0 = graph.constant 1.0 : tensor<f32>
    graph.return %0 : tensor<f32>
  }
}

// -----

module {
  // expected-error @+1 {{has argument 0 of type 'tensor<?x4xi32>', whose batch has no size; run dtc-bind-batch first}}
  graph.func @loss(%tokens: tensor<?x4xi32>, %targets: tensor<?x4xi32>) -> tensor<f32> {
    %0 = graph.constant 1.0 : tensor<f32>
    graph.return %0 : tensor<f32>
  }
}
