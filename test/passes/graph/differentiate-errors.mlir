// RUN: dtc-opt %s --dtc-differentiate -split-input-file -verify-diagnostics

// expected-error @+1 {{the module has no function '@loss' to differentiate}}
module {}

// -----

module {
  // expected-error @+1 {{must return one tensor<f32>, the loss}}
  graph.func @loss(%tokens: tensor<2x4xi32>) -> tensor<2xf32> {
    %0 = graph.constant 1.0 : tensor<2xf32>
    graph.return %0 : tensor<2xf32>
  }
}

// -----

module {
  graph.parameter @w : tensor<4xf32> init zeros
  graph.func @loss(%x: tensor<4xf32>) -> tensor<f32> {
    %w = graph.get @w : tensor<4xf32>
    // expected-error @+1 {{has weights that depend on parameters; those of a weighted mean come from inputs alone}}
    %m = graph.weighted_mean %x, %w : tensor<4xf32>
    graph.return %m : tensor<f32>
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

// -----

module {
  graph.parameter @w : tensor<9x9xf32> init zeros
  // expected-error @+1 {{the model reads 'documents', and its loss counts all 'targets'; the last token of a document has none: write 'graph.cross_entropy ... ignoring -100'}}
  graph.func @loss(%tokens: tensor<2x4xi32> {graph.input = "tokens"}, %targets: tensor<2x4xi32> {graph.input = "targets"},
      %documents: tensor<2x4xi32> {graph.input = "documents"}) -> tensor<f32> {
    %w = graph.get @w : tensor<9x9xf32>
    %logits = graph.embedding %w, %tokens : (tensor<9x9xf32>, tensor<2x4xi32>) -> tensor<2x4x9xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets : (tensor<2x4x9xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %loss = graph.reduce sum %rows dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
