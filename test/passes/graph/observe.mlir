// A state that the model observes has its next value in the place of a gradient; '@update' stores it
// where the step is applied, and no norm counts it.
// RUN: dtc-opt %s -dtc-instantiate-blocks -dtc-complete-ops "-dtc-bind-batch=batch=4" -dtc-differentiate \
// RUN:   -dtc-add-optimizer=optimizer=sgd -canonicalize -cse | FileCheck %s
// RUN: not dtc-opt %s -dtc-instantiate-blocks -dtc-complete-ops "-dtc-bind-batch=batch=4 micro-batches=2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CUT
// RUN: sed 's/momentum 0.1/momentum 0.1 parts/' %s | dtc-opt -dtc-instantiate-blocks -dtc-complete-ops \
// RUN:   "-dtc-bind-batch=batch=4 micro-batches=2 ranks=2" | FileCheck %s --check-prefix=PARTS

// CUT: normalises by statistics of the whole batch, which the plan cuts into 2 micro-batches; leave micro_batch to the
// CUT-SAME: planner, or take statistics of parts

// PARTS: graph.transpose %{{.*}} by [1, 0, 2] : tensor<2x2x3xf32> -> tensor<2x2x3xf32>
// PARTS: graph.batch_normalise %{{.*}} : (tensor<2x6xf32>, tensor<6xf32>
// PARTS: graph.reduce sum %{{.*}} dims [0] scale 5.000000e-01 : tensor<2x3xf32> -> tensor<3xf32>

// CHECK: graph.func @microbatch
// CHECK-SAME: graph.gradient_of = @w
// CHECK-SAME: graph.gradient_of = @running_mean
// CHECK-SAME: graph.gradient_of = @running_var
// CHECK-SAME: graph.gradient_of = @steps
// CHECK-NOT: graph.observe
// CHECK-NOT: graph.detach
// CHECK-NOT: graph.batch_norm
// CHECK: graph.func @update
// CHECK-COUNT-3: graph.sum_squares
// CHECK-NOT: graph.sum_squares
// CHECK: %[[NEXT:.*]] = graph.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<3xf32>, tensor<3xf32>)
// CHECK: graph.set @running_mean, %[[NEXT]]
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w, %b, %k = graph.param "w" ones, "b" zeros, "k" ones : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  %m, %v, %n = graph.param "running_mean" zeros frozen, "running_var" ones frozen, "steps" zeros frozen
      : tensor<3xf32>, tensor<3xf32>, tensor<f32>
  %scaled = graph.multiply %x, %k : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %y = graph.batch_norm %scaled, %w, %b state %m, %v, %n momentum 0.1
      : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<?x3xf32>
  %s = graph.multiply %y, %y : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %l = graph.reduce mean %s dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}
