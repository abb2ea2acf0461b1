// RUN: dtc-opt %s --dtc-instantiate-blocks --dtc-complete-ops --dtc-bind-batch=batch=2 --dtc-differentiate --dtc-add-optimizer | FileCheck %s
// RUN: dtc-opt %s --dtc-instantiate-blocks --dtc-complete-ops --dtc-bind-batch=batch=2 --dtc-set-precision=precision=bf16 --dtc-differentiate --dtc-add-optimizer=optimizer=lamb | FileCheck %s --check-prefix=NARROW

// Frozen parameters have no gradient, no state and no update; of the frozen layers there is no backward function, and the first
// trained layer's passes nothing on to them. A repeated block has frozen and trained parameters.
// CHECK:       graph.parameter @table : tensor<5x3xf32> init ones frozen
// CHECK-NEXT:  graph.parameter @"early.{}.weight" : tensor<3x3xf32> init ones decay frozen repeats 2
// CHECK-NEXT:  graph.parameter @"late.{}.weight" : tensor<3x3xf32> init ones decay frozen repeats 2
// CHECK-NEXT:  graph.parameter @"late.{}.bias" : tensor<3xf32> init zeros repeats 2
// CHECK:       graph.func @microbatch
// CHECK-SAME:    -> (tensor<f32> {graph.accumulated = "loss"}, !graph.stack<2 x tensor<3xf32>> {graph.gradient_of = @"late.{}.bias"})
// CHECK:       graph.repeat 2 @early
// CHECK:       graph.repeat 2 @late_forward
// CHECK:       graph.repeat 2 reversed @late_backward
// CHECK-NOT:   early_backward
// CHECK-NOT:   embedding_grad
// CHECK-LABEL: graph.func private @late_backward
// CHECK-NOT:   linear_weight_grad
// CHECK-NOT:   weight.exp_avg
// CHECK:       graph.state @"late.{}.bias.exp_avg"
// CHECK-LABEL: graph.func @update
// CHECK-SAME:    tensor<f32> {graph.accumulated = "loss"}, %{{[^:]*}}: !graph.stack<2 x tensor<3xf32>> {graph.gradient_of = @"late.{}.bias"})
// CHECK-NOT:   graph.set @table
// CHECK-NOT:   graph.set {{.*}}weight

// In 16 bits they have no wide copy.
// NARROW:      graph.parameter @table : tensor<5x3xbf16> init ones frozen
// NARROW-NOT:  weight.master
// NARROW:      graph.state @"late.{}.bias.master" copy of
// NARROW-NOT:  weight.master
module {
  graph.func private @early(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %w = graph.param "weight" ones decay frozen : tensor<3x3xf32>
    %y = graph.linear %x, %w : (tensor<?x3xf32>, tensor<3x3xf32>) -> tensor<?x3xf32>
    graph.return %y : tensor<?x3xf32>
  }
  graph.func private @late(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %w, %b = graph.param "weight" ones decay frozen, "bias" zeros : tensor<3x3xf32>, tensor<3xf32>
    %y = graph.linear %x, %w : (tensor<?x3xf32>, tensor<3x3xf32>) -> tensor<?x3xf32>
    %z = graph.add %y, %b : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
    %a = graph.tanh %z : tensor<?x3xf32>
    graph.return %a : tensor<?x3xf32>
  }
  graph.func @loss(%t: tensor<?xi32>) -> tensor<f32> {
    %table = graph.param "table" ones frozen : tensor<5x3xf32>
    %x = graph.embedding %table, %t : (tensor<5x3xf32>, tensor<?xi32>) -> tensor<?x3xf32>
    %y = graph.repeat 2 @early(%x) under "early.{}" : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %z = graph.repeat 2 @late(%y) under "late.{}" : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %m = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}
