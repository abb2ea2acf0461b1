// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file -verify-diagnostics

// expected-error @+1 {{has no function '@microbatch' to schedule; dtc-differentiate and dtc-add-optimizer make them}}
module @empty {}

// -----
module @pointwise {
  graph.func @microbatch(%t: tensor<1x2xi32> {graph.input = "tokens"}) -> (tensor<f32> {graph.accumulated = "loss"}) {
    // expected-error @+1 {{has no exec lowering; run dtc-form-kernels first, which makes kernels of ops that the runtime does not have}}
    %c = graph.constant 1.0 : tensor<f32>
    graph.return %c : tensor<f32>
  }
  graph.func @update() {
    graph.return
  }
}
