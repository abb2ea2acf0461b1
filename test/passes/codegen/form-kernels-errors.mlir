// RUN: dtc-opt %s --dtc-form-kernels -verify-diagnostics

graph.func @unbound(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{cannot become a kernel as a dim has no fixed size; run dtc-bind-batch before dtc-form-kernels}}
  %0 = graph.exp %x : tensor<?x8xf32>
  graph.return %0 : tensor<?x8xf32>
}
