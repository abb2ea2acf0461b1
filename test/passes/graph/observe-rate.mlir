// A state with a rate moves by the sign of what its values lack of their mean: the sum over micro-batches is compared
// with each value times their number, so that whole numbers are compared exactly.
// RUN: dtc-opt %s -dtc-instantiate-blocks -dtc-complete-ops "-dtc-bind-batch=batch=4 micro-batches=2" \
// RUN:   -dtc-differentiate -dtc-add-optimizer=optimizer=sgd -canonicalize -cse | FileCheck %s

// CHECK: graph.parameter @correction : tensor<3xf32> init zeros frozen {{{.*}}graph.rate = 1.250000e-01 : f64
// CHECK: graph.func @microbatch
// CHECK: %[[USES:.*]] = graph.reduce sum %{{.*}} dims [0] : tensor<4x3xf32> -> tensor<3xf32>
// CHECK: %[[DONE:.*]] = graph.finish %[[USES]] : tensor<3xf32>
// CHECK: graph.return {{.*}}%[[DONE]]
// CHECK: graph.func @update
// CHECK: %[[SUM:.*]] = graph.reduce sum %[[VALUES:.*]] dims [0] : tensor<3xf32> -> tensor<f32>
// CHECK: %[[TIMES:.*]] = graph.scale %[[VALUES]] by 3.000000e+00
// CHECK: %[[BELOW:.*]] = graph.subtract %[[SUM]], %[[TIMES]]
// CHECK: %[[SIGN:.*]] = graph.point sign %[[BELOW]]
// CHECK: %[[STEP:.*]] = graph.scale %[[SIGN]] by 1.250000e-01
// CHECK: %[[NEXT:.*]] = graph.add %{{.*}}, %[[STEP]]
// CHECK: %[[KEPT:.*]] = graph.where %{{.*}}, %[[NEXT]], %{{.*}}
// CHECK: graph.set @correction, %[[KEPT]]
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.param "w" ones : tensor<3xf32>
  %c = graph.param "correction" zeros frozen : tensor<3xf32>
  %y = graph.multiply %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %uses = graph.reduce sum %x dims [0] : tensor<?x3xf32> -> tensor<3xf32>
  %z = graph.observe sum %y, %c, %uses rate 0.125 : tensor<?x3xf32>, tensor<3xf32>
  %l = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}
