// A state that takes a maximum over the samples: ranks finish it, and a step has one micro-batch.
// RUN: dtc-opt %s -split-input-file -dtc-instantiate-blocks "-dtc-bind-batch=batch=4 ranks=2" -dtc-differentiate \
// RUN:   -dtc-add-optimizer=optimizer=sgd -canonicalize -cse -verify-diagnostics | FileCheck %s
// RUN: not dtc-opt %s -split-input-file -dtc-instantiate-blocks "-dtc-bind-batch=batch=4 micro-batches=2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CUT

// CUT: takes a maximum over the whole batch, which the plan cuts into 2 micro-batches; leave micro_batch to the planner

// CHECK: graph.func @microbatch
// CHECK: %[[LARGEST:.*]] = graph.reduce max %{{.*}} dims [0] : tensor<4x3xf32> -> tensor<3xf32>
// CHECK: %[[NEXT:.*]] = graph.maximum %{{.*}}, %[[LARGEST]]
// CHECK: %[[DONE:.*]] = graph.finish %[[NEXT]] : tensor<3xf32>
// CHECK-NOT: graph.scale %[[DONE]]
// CHECK: graph.return {{.*}}%[[DONE]]
// CHECK: graph.func @update
// CHECK: graph.set @peak
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.param "w" ones : tensor<3xf32>
  %peak = graph.param "peak" zeros frozen : tensor<3xf32>
  %y = graph.multiply %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %largest = graph.reduce max %y dims [0] : tensor<?x3xf32> -> tensor<3xf32>
  %old = graph.detach %peak : tensor<3xf32>
  %next = graph.maximum %old, %largest : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %z = graph.observe max %y, %peak, %next : tensor<?x3xf32>, tensor<3xf32>
  %l = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}

// -----

// The maximum also goes elsewhere, which ranks and micro-batches could not put together.
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.param "w" ones : tensor<3xf32>
  %peak = graph.param "peak" zeros frozen : tensor<3xf32>
  %y = graph.multiply %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  // expected-error @+1 {{makes one value of the samples of a batch by other than a mean or a sum}}
  %largest = graph.reduce max %y dims [0] : tensor<?x3xf32> -> tensor<3xf32>
  %half = graph.scale %largest by 0.5 : tensor<3xf32>
  %z = graph.observe max %y, %peak, %half : tensor<?x3xf32>, tensor<3xf32>
  %l = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}
