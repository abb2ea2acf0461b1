// Compression that the model or the options do not allow.
// RUN: not dtc-opt %s --dtc-add-optimizer="compress=gzip" 2>&1 | FileCheck %s --check-prefix=METHOD
// RUN: not dtc-opt %s --dtc-add-optimizer="compress=powersgd:2" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not dtc-opt %s --dtc-add-optimizer="compress=powersgd:2 ranks=2 grad-dtype=bf16" 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not dtc-opt %s --dtc-add-optimizer="compress=powersgd:6 ranks=2" 2>&1 | FileCheck %s --check-prefix=LARGE

// METHOD: error: there is no compression 'gzip'; use none or powersgd:RANK
// RANKS: error: compress=powersgd:2 needs 2 ranks of data parallelism or more
// DTYPE: error: compress=powersgd:2 sends its factors in f32; leave out --grad-dtype
// LARGE: error: compress=powersgd:6 makes no gradient of the model smaller; use a rank of 5 or less
module {
  graph.parameter @w : tensor<8x16xf32> init zeros
  graph.func @microbatch() -> (tensor<f32> {graph.accumulated = "loss"}, tensor<8x16xf32> {graph.gradient_of = @w}) {
    %loss = graph.constant 1.0 : tensor<f32>
    %g = graph.constant 1.0 : tensor<8x16xf32>
    graph.return %loss, %g : tensor<f32>, tensor<8x16xf32>
  }
}
