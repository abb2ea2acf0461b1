// A loss that is divided by weights, which only the last stage has: it divides the loss by its own, and hands them out before
// they meet the norm, so that what follows is known on both, and nothing but that is handed out.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-set-mesh="pp=2 dp=2" --dtc-place --dtc-partition --canonicalize --cse --dtc-cut-stages --canonicalize --cse | FileCheck %s

// CHECK:      module @stage_0
// CHECK:        graph.func @update({{.*}} -> (tensor<f32> {graph.output = "grad_norm"{{.*}} {graph.output = "gradient_scale"
// CHECK:          %[[NOTHING:.*]] = graph.constant 0.000000e+00
// CHECK:          %[[SQUARES:.*]] = graph.stage_reduce{{ +}}sum %{{.*}} stages [0, 1] <control>
// CHECK:          %[[SUMNORM:.*]] = graph.sqrt %[[SQUARES]]
// CHECK:          %[[INVERSE:.*]] = graph.stage_reduce{{ +}}sum %[[NOTHING]] stages [0, 1] <control>
// CHECK:          %[[NORM:.*]] = graph.multiply %[[SUMNORM]], %[[INVERSE]]
// CHECK:          %[[CLIP:.*]] = graph.clip_scale %[[NORM]]
// CHECK:          %[[SCALE:.*]] = graph.multiply %[[CLIP]], %[[INVERSE]]
// CHECK-NOT:      graph.stage_reduce
// CHECK:          graph.adamw {{.*}} grad_scale %[[SCALE]]
// CHECK:          graph.return %[[NORM]], %[[INVERSE]],

// CHECK:      module @stage_1
// CHECK:        graph.func @update({{.*}} -> (tensor<f32> {graph.output = "loss"{{.*}} {graph.output = "grad_norm"{{.*}} {graph.output = "loss_weight"{{.*}} {graph.output = "gradient_scale"
// CHECK:          %[[LOSS:.*]] = shard.all_reduce %arg0
// CHECK:          %[[WEIGHT:.*]] = shard.all_reduce %arg1
// CHECK:          %[[SQUARES:.*]] = graph.stage_reduce{{ +}}sum %{{.*}} stages [0, 1] <control>
// CHECK:          %[[SUMNORM:.*]] = graph.sqrt %[[SQUARES]]
// CHECK:          %[[OFROW:.*]] = graph.divide %[[WEIGHT]]
// CHECK:          %[[OWN:.*]] = graph.inverse_or_zero %[[OFROW]]
// CHECK:          %[[INVERSE:.*]] = graph.stage_reduce{{ +}}sum %[[OWN]] stages [0, 1] <control>
// CHECK:          %[[MEAN:.*]] = graph.multiply %[[LOSS]], %[[OWN]]
// CHECK:          %[[NORM:.*]] = graph.multiply %[[SUMNORM]], %[[INVERSE]]
// CHECK-NOT:      graph.stage_reduce
// CHECK:          graph.return %[[MEAN]], %[[NORM]], %[[WEIGHT]], %[[INVERSE]],
module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.parameter @table : tensor<8x6xf32> init normal(0.0, 0.02)
  graph.parameter @w : tensor<6x6xf32> init normal(0.0, 0.02) {graph.chunk = 1 : i64}
  graph.func @loss(%tokens: tensor<4xi32>, %targets: tensor<4xi32>, %weights: tensor<4xf32>) -> tensor<f32> {
    %table = graph.get @table : tensor<8x6xf32>
    %x = graph.embedding %table, %tokens {graph.chunk = 0 : i64} : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
    %w = graph.get @w : tensor<6x6xf32>
    %y = graph.linear %x, %w {graph.chunk = 1 : i64} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %rows, %lse = graph.cross_entropy %y, %targets {graph.chunk = 1 : i64} : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    %mean = graph.weighted_mean %rows, %weights {graph.chunk = 1 : i64} : tensor<4xf32>
    graph.return %mean : tensor<f32>
  }
}
