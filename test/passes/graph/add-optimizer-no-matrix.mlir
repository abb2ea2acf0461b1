// Muon has nothing to update where no matrix is inside of a model: the embedding and the output layer are AdamW's.
// RUN: not dtc-opt %s --dtc-differentiate --dtc-add-optimizer=optimizer=muon 2>&1 | FileCheck %s
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer=optimizer=adamw -o /dev/null
// CHECK: error: the model trains no matrix inside of it that muon could update: none but embeddings and output layers; use --optimizer adamw

graph.parameter @"table" : tensor<32x8xf32> init ones decay
graph.parameter @"head" : tensor<32x8xf32> init ones decay
graph.parameter @"inside" : tensor<8x8xf32> init ones frozen
graph.func @loss(%t: tensor<4xi32> {graph.input = "tokens"}) -> tensor<f32> {
  %table = graph.get @"table" : tensor<32x8xf32>
  %head = graph.get @"head" : tensor<32x8xf32>
  %inside = graph.get @"inside" : tensor<8x8xf32>
  %x = graph.embedding %table, %t : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %y = graph.linear %x, %inside : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %logits = graph.linear %y, %head transposed : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
  %m = graph.reduce sum %logits dims [0, 1] : tensor<4x32xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}
