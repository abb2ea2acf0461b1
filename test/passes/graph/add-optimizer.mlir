// RUN: dtc-opt %s --dtc-add-optimizer="weight-decay=0.5 warmup-steps=3" | FileCheck %s --check-prefixes=CHECK,ADAMW
// RUN: dtc-opt %s --dtc-add-optimizer="optimizer=sgd clip-norm=0 cosine=0" | FileCheck %s --check-prefixes=CHECK,SGD

module {
  graph.parameter @w : tensor<2x3xf32> init zeros decay
  graph.parameter @b : tensor<3xf32> init zeros
  graph.func @microbatch(%tokens: tensor<1x1xi32>, %targets: tensor<1x1xi32>) -> (tensor<f32> {graph.accumulated = "loss"}, tensor<2x3xf32> {graph.gradient_of = @w}, tensor<3xf32> {graph.gradient_of = @b}) {
    %0 = graph.constant 1.0 : tensor<f32>
    %1 = graph.constant 1.0 : tensor<2x3xf32>
    %2 = graph.constant 1.0 : tensor<3xf32>
    graph.return %0, %1, %2 : tensor<f32>, tensor<2x3xf32>, tensor<3xf32>
  }
}
// ADAMW: graph.state @w.exp_avg of @w : tensor<2x3xf32>
// ADAMW: graph.state @w.exp_avg_sq of @w : tensor<2x3xf32>
// SGD:   graph.state @w.momentum of @w : tensor<2x3xf32>

// The loss and every gradient come in; loss, norm, learning rate and the number of steps that changed nothing go out.
// CHECK-LABEL: graph.func @update
// CHECK-SAME:  %[[LOSS:.*]]: tensor<f32> {graph.accumulated = "loss"}
// CHECK-SAME:  %[[GW:.*]]: tensor<2x3xf32> {graph.gradient_of = @w}
// CHECK-SAME:  {graph.gradient_of = @b}
// CHECK-SAME:  {graph.output = "loss"}
// CHECK-SAME:  {graph.output = "grad_norm"}
// CHECK-SAME:  {graph.output = "learning_rate"}
// CHECK-SAME:  {graph.output = "skipped_steps"}
// CHECK:       graph.sum_squares %[[GW]]
// CHECK:       %[[NORM:.*]] = graph.sqrt
// ADAMW:       graph.clip_scale %[[NORM]] max 1.0
// SGD-NOT:     graph.clip_scale
// A step whose norm is not finite is not applied; applied ones count for the average.
// CHECK:       %[[APPLY:.*]] = graph.is_finite %[[NORM]]
// CHECK:       %[[STEP:.*]] = graph.input step
// CHECK:       %[[BEFORE:.*]] = graph.get @step.skipped
// CHECK:       %[[MISSED:.*]] = graph.subtract %{{.*}}, %[[APPLY]]
// CHECK:       %[[SKIPPED:.*]] = graph.add %[[BEFORE]], %[[MISSED]]
// CHECK:       graph.set @step.skipped, %[[SKIPPED]]
// CHECK:       %[[APPLIED:.*]] = graph.subtract %[[STEP]], %[[BEFORE]]
// ADAMW:       graph.learning_rate cosine({{.*}}) warmup 3
// SGD:         graph.learning_rate constant

// Only parameters marked `decay` decay.
// ADAMW:       graph.adamw {{.*}} step %[[APPLIED]] {{.*}} apply %[[APPLY]] {{.*}}weight_decay = 5.000000e-01
// ADAMW:       graph.set @w,
// ADAMW:       graph.set @w.exp_avg,
// ADAMW:       graph.adamw {{.*}}weight_decay = 0.000000e+00
// SGD:         graph.sgd {{.*}} apply %[[APPLY]]
// SGD:         graph.set @w.momentum,
// CHECK:       graph.return %[[LOSS]], %[[NORM]], %{{.*}}, %[[SKIPPED]] :
