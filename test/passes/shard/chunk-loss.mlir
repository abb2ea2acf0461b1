// RUN: dtc-opt %s --dtc-chunk-loss | FileCheck %s

// Logits and their gradients exist for one sample at a time. Targets and weights of the rows, which stand behind the
// loss, are cut, too; the gradients of the hidden states are joined, and those of the weight are added up.
module attributes {graph.loss_chunks = 2 : i64} {
  graph.parameter @w : tensor<8x64xf32> init zeros
  // CHECK-LABEL: graph.func @microbatch(%{{.*}}: tensor<2x4x8xf32>
  graph.func @microbatch(%h: tensor<2x4x8xf32> {graph.input = "h"}, %t: tensor<2x4xi32> {graph.input = "t"}, %weights: tensor<2x4xf32> {graph.input = "weights"})
      -> (tensor<f32> {graph.accumulated = "loss"}, tensor<8x64xf32> {graph.gradient_of = @w}, tensor<2x4x8xf32> {graph.accumulated = "dh"}) {
    %w = graph.get @w : tensor<8x64xf32>
    // CHECK: %[[D:.*]] = graph.scale %{{.*}} by 5.000000e-01 : tensor<2x4xf32>
    // CHECK: %[[H0:.*]] = graph.slice %{{.*}} dim 0 start 0 size 1 : tensor<2x4x8xf32> -> tensor<1x4x8xf32>
    // CHECK: %[[L0:.*]] = graph.linear %[[H0]], %[[W:.*]] {graph.loss_chunk = 0 : i64} : (tensor<1x4x8xf32>, tensor<8x64xf32>) -> tensor<1x4x64xf32>
    // CHECK: %[[T0:.*]] = graph.slice %{{.*}} dim 0 start 0 size 1 : tensor<2x4xi32> -> tensor<1x4xi32>
    // CHECK: %[[R0:.*]], %[[S0:.*]] = graph.cross_entropy %[[L0]], %[[T0]] {graph.loss_chunk = 0 : i64}
    // CHECK: %[[D0:.*]] = graph.slice %[[D]] dim 0 start 0 size 1
    // CHECK: %[[G0:.*]] = graph.cross_entropy_grad %[[L0]], %[[T0]], %[[S0]], %[[D0]] {graph.loss_chunk = 0 : i64}
    // CHECK: %[[DH0:.*]] = graph.linear %[[G0]], %[[W]] transposed {graph.loss_chunk = 0 : i64}
    // CHECK: %[[DW0:.*]] = graph.linear_weight_grad %[[H0]], %[[G0]] {graph.loss_chunk = 0 : i64}
    // CHECK: %[[L1:.*]] = graph.linear %{{.*}}, %[[W]] {graph.loss_chunk = 1 : i64}
    // CHECK: %[[R1:.*]], %{{.*}} = graph.cross_entropy %[[L1]]
    // CHECK: %[[DH1:.*]] = graph.linear %{{.*}}, %[[W]] transposed {graph.loss_chunk = 1 : i64}
    // CHECK: %[[DW1:.*]] = graph.linear_weight_grad
    // CHECK: %[[DW:.*]] = graph.add %[[DW0]], %[[DW1]] {graph.loss_chunk = 1 : i64}
    // CHECK-DAG: %[[ROWS:.*]] = graph.concat %[[R0]], %[[R1]] dim 0 {graph.loss_chunk = 1 : i64}
    // CHECK-DAG: %[[DH:.*]] = graph.concat %[[DH0]], %[[DH1]] dim 0 {graph.loss_chunk = 1 : i64}
    // CHECK: %[[LOSS:.*]] = graph.reduce sum %[[ROWS]]
    // CHECK: graph.return %[[LOSS]], %[[DW]], %[[DH]]
    %logits = graph.linear %h, %w : (tensor<2x4x8xf32>, tensor<8x64xf32>) -> tensor<2x4x64xf32>
    %rows, %lse = graph.cross_entropy %logits, %t : (tensor<2x4x64xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %loss = graph.reduce sum %rows dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    %drows = graph.scale %weights by 0.5 : tensor<2x4xf32>
    %dlogits = graph.cross_entropy_grad %logits, %t, %lse, %drows : (tensor<2x4x64xf32>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4x64xf32>
    %dh = graph.linear %dlogits, %w transposed : (tensor<2x4x64xf32>, tensor<8x64xf32>) -> tensor<2x4x8xf32>
    %dw = graph.linear_weight_grad %h, %dlogits : (tensor<2x4x8xf32>, tensor<2x4x64xf32>) -> tensor<8x64xf32>
    graph.return %loss, %dw, %dh : tensor<f32>, tensor<8x64xf32>, tensor<2x4x8xf32>
  }
}
