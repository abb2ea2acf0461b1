// A layer of experts: its gradients are again dispatch, combine and expert products.
// RUN: dtc-opt %s --dtc-bind-batch=batch=2 --dtc-differentiate --canonicalize --cse | FileCheck %s

// CHECK-LABEL: graph.func @microbatch
// CHECK:       graph.reduce sum %{{.*}}#1 dims [0] scale 5.000000e-01 : tensor<2xf32> -> tensor<f32>
// CHECK-LABEL: graph.func private @block_forward
// CHECK:       %[[W:.*]], %[[E:.*]], %[[S:.*]], %[[LOAD:.*]], %{{.*}} = graph.moe_router
// CHECK-LABEL: graph.func private @block_backward
// CHECK-SAME:  (%[[LOAD:[^:]*]]: tensor<2x4xf32>, %[[E:[^:]*]]: tensor<2x16x2xi32>, %[[S:[^:]*]]: tensor<2x16x2xi32>, %[[W:[^:]*]]: tensor<2x16x2xf32>,

// The balance loss: 0.5 * 4 experts / 16^2 of the load flows into the importance.
// CHECK:       %[[DB:.*]] = graph.broadcast %{{.*}} dims [1] : tensor<2xf32> -> tensor<2x4xf32>
// CHECK:       %[[SHARE:.*]] = graph.scale %[[LOAD]] by 7.812500e-03
// CHECK:       %[[DI:.*]] = graph.multiply %[[SHARE]], %[[DB]]

// Combine's gradient dispatches, dispatch's combines; the weights' goes to the router.
// CHECK:       %[[DO:.*]] = graph.moe_dispatch %[[DY:.*]] to %[[E]] at %[[S]] weighted %[[W]] group 8 capacity 1.500000e+00
// CHECK:       %[[DW:.*]] = graph.moe_weight_grad %{{.*}} from %[[E]] at %[[S]], %[[DY]] group 8
// CHECK:       graph.expert_linear %[[DO]], %{{[^ ]*}} :
// CHECK:       graph.expert_linear_weight_grad %{{.*}}, %[[DO]] transposed
// CHECK:       graph.silu_grad
// CHECK:       %[[DR:.*]] = graph.expert_linear
// CHECK:       graph.expert_linear_weight_grad
// CHECK:       %[[DX:.*]] = graph.moe_combine %[[DR]] from %[[E]] at %[[S]] group 8
// CHECK:       %[[DL:.*]] = graph.moe_router_grad %{{.*}}, %[[E]] normalised weights(%[[DW]]) importance(%[[DI]])
// CHECK:       %[[DG:.*]] = graph.linear %[[DL]]
// CHECK:       graph.add %[[DX]], %[[DG]]

module @experts attributes {graph.sequence_length = 16 : i64} {
  graph.parameter @emb : tensor<8x6xf32> init normal(0.0, 0.02)
  graph.parameter @gate : tensor<4x6xf32> init normal(0.0, 0.02)
  graph.parameter @"experts.*.up" : tensor<4x10x6xf32> init normal(0.0, 0.02)
  graph.parameter @"experts.*.down" : tensor<4x6x10xf32> init normal(0.0, 0.02)

  graph.func private @block(%x: tensor<?x16x6xf32>, %gate: tensor<4x6xf32>, %up: tensor<4x10x6xf32>, %down: tensor<4x6x10xf32>)
      -> (tensor<?x16x6xf32>, tensor<?xf32>) {
    %l = graph.linear %x, %gate transposed : (tensor<?x16x6xf32>, tensor<4x6xf32>) -> tensor<?x16x4xf32>
    %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 8 : (tensor<?x16x4xf32>) -> (tensor<?x16x2xf32>, tensor<?x16x2xi32>, tensor<?x16x2xi32>, tensor<?x4xf32>, tensor<?x4xf32>)
    %r = graph.moe_dispatch %x to %e at %s group 8 capacity 1.5 : (tensor<?x16x6xf32>, tensor<?x16x2xi32>, tensor<?x16x2xi32>) -> tensor<4x?x12x6xf32>
    %h = graph.expert_linear %r, %up transposed : (tensor<4x?x12x6xf32>, tensor<4x10x6xf32>) -> tensor<4x?x12x10xf32>
    %a = graph.silu %h : tensor<4x?x12x10xf32>
    %o = graph.expert_linear %a, %down transposed : (tensor<4x?x12x10xf32>, tensor<4x6x10xf32>) -> tensor<4x?x12x6xf32>
    %c = graph.moe_combine %o from %e at %s weighted %w group 8 capacity 1.5 : (tensor<4x?x12x6xf32>, tensor<?x16x2xi32>, tensor<?x16x2xi32>, tensor<?x16x2xf32>) -> tensor<?x16x6xf32>
    %b = graph.moe_balance_loss %load, %i tokens 16 coefficient 0.5 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?xf32>
    graph.return %c, %b : tensor<?x16x6xf32>, tensor<?xf32>
  }

  graph.func @loss(%tokens: tensor<?x16xi32>, %targets: tensor<?x16xi32>) -> tensor<f32> {
    %e = graph.get @emb : tensor<8x6xf32>
    %g = graph.get @gate : tensor<4x6xf32>
    %u = graph.get @"experts.*.up" : tensor<4x10x6xf32>
    %d = graph.get @"experts.*.down" : tensor<4x6x10xf32>
    %0 = graph.embedding %e, %tokens : (tensor<8x6xf32>, tensor<?x16xi32>) -> tensor<?x16x6xf32>
    %1, %b = graph.call @block(%0, %g, %u, %d) : (tensor<?x16x6xf32>, tensor<4x6xf32>, tensor<4x10x6xf32>, tensor<4x6x10xf32>) -> (tensor<?x16x6xf32>, tensor<?xf32>)
    %2 = graph.linear %1, %e transposed : (tensor<?x16x6xf32>, tensor<8x6xf32>) -> tensor<?x16x8xf32>
    %l, %lse = graph.cross_entropy %2, %targets : (tensor<?x16x8xf32>, tensor<?x16xi32>) -> (tensor<?x16xf32>, tensor<?x16xf32>)
    %m = graph.reduce mean %l dims [0, 1] : tensor<?x16xf32> -> tensor<f32>
    %n = graph.reduce mean %b dims [0] : tensor<?xf32> -> tensor<f32>
    %t = graph.add %m, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.return %t : tensor<f32>
  }
}
