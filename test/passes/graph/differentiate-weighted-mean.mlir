// RUN: dtc-opt %s --dtc-differentiate=micro-batches=2 --dtc-add-optimizer -split-input-file | FileCheck %s

// Both sums of a weighted mean leave the micro-batch, that of the loss and its gradients divided by the 8 rows of the step, as a mean
// over 4 rows and 2 micro-batches; @update divides the loss, the norm and the gradients by the mean weight of a row. What the loss
// ignores, the input may hold, and rows that cross entropy has left out are not left out again.
// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:    %x: tensor<4x3xf32> {graph.input = "x"}
// CHECK-SAME:    %t: tensor<4xi32> {graph.below = 5 : i64, graph.ignored = -100 : i64, graph.input = "t"}
// CHECK-SAME:    -> (tensor<f32> {graph.accumulated = "loss"}, tensor<f32> {graph.accumulated = "weight", graph.rows = 8 : i64}, tensor<5x3xf32> {graph.gradient_of = @w})
// CHECK:         %[[ROWS:.*]], %{{.*}} = graph.cross_entropy {{.*}} ignoring -100
// CHECK:         %[[COUNTED:.*]] = graph.counted %t ignoring -100
// CHECK-NOT:     graph.multiply
// CHECK:         %[[LOSS:.*]] = graph.reduce sum %[[ROWS]] dims [0] scale 2.500000e-01
// CHECK:         %[[WEIGHT:.*]] = graph.reduce sum %[[COUNTED]] dims [0] : tensor<4xf32>
// CHECK:         %[[SEED:.*]] = graph.constant 5.000000e-01 : tensor<f32>
// CHECK:         graph.scale %[[SEED]] by 2.500000e-01
// CHECK-NOT:     graph.multiply
// CHECK:         graph.cross_entropy_grad {{.*}} ignoring -100
// CHECK:         %[[SHARE:.*]] = graph.scale %[[LOSS]] by 5.000000e-01
// CHECK-NOT:     graph.scale
// CHECK:         graph.return %[[SHARE]], %[[WEIGHT]],
// CHECK-LABEL: graph.func @update
// CHECK-SAME:    (%[[LOSS:[^:]*]]: tensor<f32> {graph.accumulated = "loss"}, %[[WEIGHT:[^:]*]]: tensor<f32> {graph.accumulated = "weight"}, %[[G:[^:]*]]: tensor<5x3xf32>
// CHECK:         %[[SQUARES:.*]] = graph.sum_squares %[[G]]
// CHECK:         %[[SUMNORM:.*]] = graph.sqrt %[[SQUARES]]
// CHECK:         %[[ALL:.*]] = graph.constant 8.0{{.*}} : tensor<f32>
// CHECK:         %[[OFROW:.*]] = graph.divide %[[WEIGHT]], %[[ALL]]
// CHECK:         %[[INVERSE:.*]] = graph.inverse_or_zero %[[OFROW]]
// CHECK:         %[[MEAN:.*]] = graph.multiply %[[LOSS]], %[[INVERSE]]
// CHECK:         %[[NORM:.*]] = graph.multiply %[[SUMNORM]], %[[INVERSE]]
// CHECK:         %[[CLIP:.*]] = graph.clip_scale %[[NORM]]
// CHECK:         %[[SCALE:.*]] = graph.multiply %[[CLIP]], %[[INVERSE]]
// CHECK:         graph.adamw {{.*}} %[[G]], {{.*}} grad_scale %[[SCALE]]
// CHECK:         graph.return %[[MEAN]], %[[NORM]],
module {
  graph.parameter @w : tensor<5x3xf32> init zeros
  graph.func @loss(%x: tensor<4x3xf32>, %t: tensor<4xi32>) -> tensor<f32> {
    %w = graph.get @w : tensor<5x3xf32>
    %y = graph.linear %x, %w transposed : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
    %rows, %lse = graph.cross_entropy %y, %t ignoring -100 : (tensor<4x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    %counted = graph.counted %t ignoring -100 : tensor<4xi32> to tensor<4xf32>
    %m = graph.weighted_mean %rows, %counted : tensor<4xf32>
    graph.return %m : tensor<f32>
  }
}

// -----

// Weights of an input, and the number of targets that another op ignores, are multiplied with.
// CHECK-LABEL: graph.func @microbatch
// CHECK:         %[[ROWS:.*]], %{{.*}} = graph.cross_entropy {{.*}} ignoring 3
// CHECK:         %[[COUNTED:.*]] = graph.counted %t ignoring -100
// CHECK:         %[[KEPT:.*]] = graph.multiply %[[ROWS]], %[[COUNTED]]
// CHECK:         graph.reduce sum %[[KEPT]] dims [0] scale 2.500000e-01
module {
  graph.parameter @w : tensor<5x3xf32> init zeros
  graph.func @loss(%x: tensor<4x3xf32>, %t: tensor<4xi32>) -> tensor<f32> {
    %w = graph.get @w : tensor<5x3xf32>
    %y = graph.linear %x, %w transposed : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
    %rows, %lse = graph.cross_entropy %y, %t ignoring 3 : (tensor<4x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    %counted = graph.counted %t ignoring -100 : tensor<4xi32> to tensor<4xf32>
    %m = graph.weighted_mean %rows, %counted : tensor<4xf32>
    graph.return %m : tensor<f32>
  }
}

// -----

// An index that one op ignores and another looks up is no index; through blocks and casts, the smallest limit holds.
// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:    %t: tensor<4xi32> {graph.below = 5 : i64, graph.input = "t"}
module {
  graph.parameter @e : tensor<9x5xf32> init zeros
  graph.func private @look(%e: tensor<9x5xf32>, %t: tensor<4xi32>) -> tensor<4x5xf32> {
    %r = graph.reshape %t : tensor<4xi32> -> tensor<4x1xi32>
    %x = graph.embedding %e, %r : (tensor<9x5xf32>, tensor<4x1xi32>) -> tensor<4x1x5xf32>
    %y = graph.reshape %x : tensor<4x1x5xf32> -> tensor<4x5xf32>
    graph.return %y : tensor<4x5xf32>
  }
  graph.func @loss(%t: tensor<4xi32>) -> tensor<f32> {
    %e = graph.get @e : tensor<9x5xf32>
    %y = graph.call @look(%e, %t) : (tensor<9x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>
    %rows, %lse = graph.cross_entropy %y, %t ignoring 3 : (tensor<4x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    %m = graph.reduce sum %rows dims [0] : tensor<4xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}

// -----

// A sum over the samples is not divided by the number of micro-batches.
// CHECK-LABEL: graph.func @microbatch
// CHECK-NOT:     adds_up
// CHECK-NOT:     graph.scale
// CHECK-LABEL: graph.func @update
module {
  graph.parameter @w : tensor<3xf32> init zeros
  graph.func @loss(%x: tensor<4x3xf32>) -> tensor<f32> attributes {graph.adds_up} {
    %w = graph.get @w : tensor<3xf32>
    %y = graph.multiply %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %m = graph.reduce sum %y dims [0, 1] : tensor<4x3xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}
