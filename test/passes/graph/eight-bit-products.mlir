// RUN: dtc-opt %s --dtc-set-precision=precision=fp8 -split-input-file | FileCheck %s
// RUN: dtc-opt %s --dtc-set-precision=precision=fp8 --dtc-differentiate --canonicalize -split-input-file | FileCheck %s --check-prefix=GRAD

// Two products that read one tensor read one rounding of it. The output layer, whose weight is the embedding's, and the
// norm stay in bf16.
// CHECK-LABEL: graph.func private @block
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4x16xbf16>, %[[W:.*]]: tensor<16x16xbf16>, %[[V:.*]]: tensor<16x16xbf16>, %[[N:.*]]: tensor<16xbf16>)
// CHECK-DAG:     %[[WA:.*]] = graph.amax %[[W]] : tensor<16x16xbf16> -> tensor<f32>
// CHECK-DAG:     %[[WQ:.*]] = graph.quantise e4m3 %[[W]] by %[[WA]] : tensor<16x16xbf16>
// CHECK-DAG:     %[[VA:.*]] = graph.amax %[[V]]
// CHECK-DAG:     %[[VQ:.*]] = graph.quantise e4m3 %[[V]] by %[[VA]]
// CHECK:         %[[Y:.*]], %{{.*}} = graph.rms_norm %[[X]], %[[N]]
// CHECK-NEXT:    %[[YA:.*]] = graph.amax %[[Y]] : tensor<2x4x16xbf16> -> tensor<f32>
// CHECK-NEXT:    %[[YQ:.*]] = graph.quantise e4m3 %[[Y]] by %[[YA]] : tensor<2x4x16xbf16>
// CHECK-NEXT:    %[[A:.*]] = graph.linear %[[YQ]], %[[WQ]]
// CHECK-NEXT:    %[[AG:.*]] = graph.quantise_gradient e5m2 %[[A]] : tensor<2x4x16xbf16>
// CHECK-NEXT:    %[[B:.*]] = graph.linear %[[YQ]], %[[VQ]]
// CHECK-NEXT:    %[[BG:.*]] = graph.quantise_gradient e5m2 %[[B]]
// CHECK-NEXT:    graph.add %[[AG]], %[[BG]]
// CHECK-LABEL: graph.func @loss
// CHECK-NOT:     graph.quantise

// The backward function rounds the weight again rather than read a saved copy; the input is saved as it was rounded. The
// gradient of a product's result is rounded once, for both products that read it.
// GRAD-LABEL: graph.func private @block
// GRAD-NOT:     graph.quantise_gradient
// GRAD:         graph.func private @block_backward
// GRAD:         graph.quantise e4m3 %{{.*}} by %{{.*}} again : tensor<16x16xbf16>
// GRAD:         %[[D:.*]] = graph.quantise e5m2 %{{.*}} by %{{.*}} : tensor<2x4x16xbf16>
// GRAD-DAG:     graph.linear %[[D]], %{{.*}} transposed
// GRAD-DAG:     graph.linear_weight_grad %{{.*}}, %[[D]]
module {
  graph.parameter @table : tensor<16x16xf32> init ones
  graph.parameter @"h.{}.w" : tensor<16x16xf32> init ones repeats 2
  graph.parameter @"h.{}.v" : tensor<16x16xf32> init ones repeats 2
  graph.parameter @"h.{}.n" : tensor<16xf32> init ones repeats 2
  graph.func private @block(%x: tensor<2x4x16xf32>, %w: tensor<16x16xf32>, %v: tensor<16x16xf32>, %n: tensor<16xf32>) -> tensor<2x4x16xf32> {
    %y, %rstd = graph.rms_norm %x, %n : (tensor<2x4x16xf32>, tensor<16xf32>) -> (tensor<2x4x16xf32>, tensor<2x4xf32>)
    %a = graph.linear %y, %w : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %b = graph.linear %y, %v : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %z = graph.add %a, %b : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    graph.return %z : tensor<2x4x16xf32>
  }
  graph.func @loss(%tokens: tensor<2x4xi32>, %targets: tensor<2x4xi32>) -> tensor<f32> {
    %table = graph.get @table : tensor<16x16xf32>
    %w = graph.get @"h.{}.w" : !graph.stack<2 x tensor<16x16xf32>>
    %v = graph.get @"h.{}.v" : !graph.stack<2 x tensor<16x16xf32>>
    %n = graph.get @"h.{}.n" : !graph.stack<2 x tensor<16xf32>>
    %x = graph.embedding %table, %tokens : (tensor<16x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %y = graph.repeat 2 @block(%x, %w, %v, %n) : (tensor<2x4x16xf32>, !graph.stack<2 x tensor<16x16xf32>>, !graph.stack<2 x tensor<16x16xf32>>, !graph.stack<2 x tensor<16xf32>>) -> tensor<2x4x16xf32>
    %logits = graph.linear %y, %table transposed : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %loss = graph.reduce sum %rows dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
