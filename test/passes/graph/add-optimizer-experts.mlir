// Muon makes each expert's matrix orthogonal by itself: products are those of a batch, and each matrix has a norm.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer=optimizer=muon --canonicalize --cse | FileCheck %s

graph.parameter @"experts" : tensor<4x8x16xf32> init ones decay
graph.parameter @"head" : tensor<32x16xf32> init ones decay
graph.func @loss(%x: tensor<4x6x8xf32> {graph.input = "x"}) -> tensor<f32> {
  %experts = graph.get @"experts" : tensor<4x8x16xf32>
  %head = graph.get @"head" : tensor<32x16xf32>
  %y = graph.expert_linear %x, %experts : (tensor<4x6x8xf32>, tensor<4x8x16xf32>) -> tensor<4x6x16xf32>
  %logits = graph.linear %y, %head transposed : (tensor<4x6x16xf32>, tensor<32x16xf32>) -> tensor<4x6x32xf32>
  %m = graph.reduce sum %logits dims [0, 1, 2] : tensor<4x6x32xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}
// CHECK-LABEL: graph.func @update
// CHECK:       graph.whole_matrix %{{.*}} batch 1 : tensor<4x8x16xf32>
// CHECK:       %[[NORM:.*]] = graph.maximum %{{.*}} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK:       graph.reshape %[[NORM]] : tensor<4xf32> -> tensor<4x1x1xf32>
// CHECK:       graph.matmul %[[X:.*]], %[[X]] transposed : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
// CHECK:       graph.adamw {{.*}} : tensor<32x16xf32>
