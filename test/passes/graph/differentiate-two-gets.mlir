// A parameter may be read by several graph.get; its gradient is the sum of theirs.
// RUN: dtc-opt %s --dtc-differentiate --canonicalize | FileCheck %s

module {
  graph.parameter @table : tensor<8x6xf32> init normal(0.0, 0.02)
  // CHECK-LABEL: graph.func @microbatch
  // CHECK-DAG:   %[[WORDS:.*]] = graph.embedding_grad
  // CHECK-DAG:   %[[SCORES:.*]] = graph.linear_weight_grad
  // CHECK:       %[[SUM:.*]] = graph.add %[[WORDS]], %[[SCORES]] : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK:       graph.return %{{.*}}, %[[SUM]] : tensor<f32>, tensor<8x6xf32>
  graph.func @loss(%tokens: tensor<2x4xi32>, %targets: tensor<2x4xi32>) -> tensor<f32> {
    %words = graph.get @table : tensor<8x6xf32>
    %x = graph.embedding %words, %tokens : (tensor<8x6xf32>, tensor<2x4xi32>) -> tensor<2x4x6xf32>
    %scores = graph.get @table : tensor<8x6xf32>
    %logits = graph.linear %x, %scores transposed : (tensor<2x4x6xf32>, tensor<8x6xf32>) -> tensor<2x4x8xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets : (tensor<2x4x8xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %mean = graph.reduce sum %rows dims [0, 1] scale 0.125 : tensor<2x4xf32> -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
