// RUN: dtc-opt %s --dtc-bind-batch="batch=2 micro-batches=3" --dtc-differentiate=micro-batches=3 --dtc-add-optimizer --canonicalize | FileCheck %s

// A mean over counted targets beside others: '@prepare' counts those of the 6 samples of the step, of 4 targets each; backward multiplies
// the gradient of the weighted mean, and no other, with rows / count. The loss is put together of three sums by '@update', which
// divides no gradient.
// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:    -> (tensor<f32> {graph.accumulated = "loss"}, tensor<f32> {graph.accumulated = "weight", graph.rows = 24 : i64}, tensor<f32> {graph.accumulated = "beside"}, tensor<5x3xf32> {graph.gradient_of = @w})
// CHECK:         %[[ROWS:.*]], %{{.*}} = graph.cross_entropy {{.*}} ignoring -100
// CHECK:         %[[MEAN:.*]] = graph.reduce sum %[[ROWS]] dims [0, 1] scale 1.250000e-01
// CHECK:         graph.get @step.weight_scale : tensor<f32>
// CHECK-LABEL: graph.state @step.weight_scale : tensor<f32>
// CHECK:       graph.func @prepare(%{{.*}}: tensor<6x4xi32> {graph.input = "t"}) {
// CHECK-NEXT:    %[[COUNTED:.*]] = graph.counted %{{.*}} ignoring -100 : tensor<6x4xi32> to tensor<6x4xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.reduce sum %[[COUNTED]] dims [0, 1]
// CHECK-NEXT:    %[[SHARE:.*]] = graph.scale %[[SUM]] by 0.041666666666666664
// CHECK-NEXT:    %[[SCALE:.*]] = graph.inverse_or_zero %[[SHARE]]
// CHECK-NEXT:    graph.set @step.weight_scale, %[[SCALE]]
// CHECK-LABEL: graph.func @update
// CHECK-SAME:    (%[[LOSS:[^:]*]]: tensor<f32> {graph.accumulated = "loss"}, %[[WEIGHT:[^:]*]]: tensor<f32> {graph.accumulated = "weight"}, %[[BESIDE:[^:]*]]: tensor<f32> {graph.accumulated = "beside"}, %[[G:[^:]*]]: tensor<5x3xf32>
// CHECK:         %[[NORM:.*]] = graph.sqrt
// CHECK:         %[[INVERSE:.*]] = graph.inverse_or_zero
// CHECK:         %[[PART:.*]] = graph.multiply %[[LOSS]], %[[INVERSE]]
// CHECK:         %[[ALL:.*]] = graph.add %[[PART]], %[[BESIDE]]
// CHECK:         %[[CLIP:.*]] = graph.clip_scale %[[NORM]]
// CHECK:         graph.adamw {{.*}} %[[G]], {{.*}} grad_scale %[[CLIP]]
// CHECK:         graph.return %[[ALL]], %[[NORM]], %[[WEIGHT]], %[[BESIDE]],
module {
  graph.parameter @w : tensor<5x3xf32> init zeros
  graph.func @loss(%x: tensor<?x4x3xf32>, %t: tensor<?x4xi32>) -> tensor<f32> {
    %w = graph.get @w : tensor<5x3xf32>
    %y = graph.linear %x, %w transposed : (tensor<?x4x3xf32>, tensor<5x3xf32>) -> tensor<?x4x5xf32>
    %rows, %lse = graph.cross_entropy %y, %t ignoring -100 : (tensor<?x4x5xf32>, tensor<?x4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    %counted = graph.counted %t ignoring -100 : tensor<?x4xi32> to tensor<?x4xf32>
    %m = graph.weighted_mean %rows, %counted : tensor<?x4xf32>
    %z = graph.multiply %y, %y : (tensor<?x4x5xf32>, tensor<?x4x5xf32>) -> tensor<?x4x5xf32>
    %n = graph.reduce mean %z dims [0, 1, 2] : tensor<?x4x5xf32> -> tensor<f32>
    %l = graph.add %m, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.return %l : tensor<f32>
  }
}
