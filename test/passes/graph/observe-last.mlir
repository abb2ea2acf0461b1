// A state that takes the last value: any function of sums over samples, which ranks finish first, so that a step has
// one micro-batch; or of what no sample changes, which each of several micro-batches adds to a sum that is divided.
// RUN: dtc-opt %s -split-input-file -dtc-instantiate-blocks "-dtc-bind-batch=batch=4 ranks=2" -dtc-differentiate \
// RUN:   -dtc-add-optimizer=optimizer=sgd -canonicalize -cse -verify-diagnostics | FileCheck %s
// RUN: not dtc-opt %s -split-input-file -dtc-instantiate-blocks "-dtc-bind-batch=batch=4 micro-batches=3" \
// RUN:   -dtc-differentiate=micro-batches=3 -dtc-add-optimizer=optimizer=sgd 2>&1 | FileCheck %s --check-prefix=CUT

// CUT: takes a value made of the whole batch, which the plan cuts into 3 micro-batches; leave micro_batch to the planner

// The sum that the loss reads as well stays a part of each rank there.
// CHECK-LABEL: graph.func @microbatch
// CHECK: %[[MEAN:.*]] = graph.reduce sum %{{.*}} dims [0] scale 2.500000e-01 {graph.statistic} : tensor<4x3xf32> -> tensor<3xf32>
// CHECK: %[[DONE:.*]] = graph.finish %[[MEAN]] : tensor<3xf32>
// CHECK: %[[ROOT:.*]] = graph.sqrt %[[DONE]]
// CHECK: graph.reduce sum %[[MEAN]]
// CHECK: graph.return {{.*}}%[[ROOT]]
// CHECK: graph.set @spread
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.param "w" ones : tensor<3xf32>
  %spread = graph.param "spread" zeros frozen : tensor<3xf32>
  %y = graph.multiply %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %square = graph.multiply %y, %y : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %mean = graph.reduce mean %square dims [0] : tensor<?x3xf32> -> tensor<3xf32>
  %root = graph.sqrt %mean : tensor<3xf32>
  %z = graph.observe last %y, %spread, %root : tensor<?x3xf32>, tensor<3xf32>
  %a = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  %b = graph.reduce sum %mean dims [0] : tensor<3xf32> -> tensor<f32>
  %l = graph.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %l : tensor<f32>
}

// -----

// CUT: graph.parameter @steps : tensor<f32> init zeros frozen {{{.*}}graph.copies = 3 : i64
// CUT-LABEL: graph.func @update
// CUT: %[[THREE:.*]] = graph.constant 3.0
// CUT: %[[NEXT:.*]] = graph.divide %{{.*}}, %[[THREE]]
// CUT: graph.where %{{.*}}, %[[NEXT]]
// CHECK-LABEL: graph.parameter @steps
// CHECK-NOT: graph.copies
// CHECK-NOT: graph.divide
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.param "w" ones : tensor<3xf32>
  %steps = graph.param "steps" zeros frozen : tensor<f32>
  %y = graph.multiply %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %old = graph.detach %steps : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %next = graph.add %old, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %z = graph.observe last %y, %steps, %next : tensor<?x3xf32>, tensor<f32>
  %l = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}

// -----

// A block would get the part of a rank.
graph.func private @keep(%x: tensor<?x3xf32>, %mean: tensor<3xf32>) -> tensor<?x3xf32> {
  %kept = graph.param "kept" zeros frozen : tensor<3xf32>
  // expected-error @+1 {{takes what is made of a mean or sum over the batch that another function has computed; compute it in the one that has the state}}
  %z = graph.observe last %x, %kept, %mean : tensor<?x3xf32>, tensor<3xf32>
  graph.return %z : tensor<?x3xf32>
}
graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %mean = graph.reduce mean %x dims [0] : tensor<?x3xf32> -> tensor<3xf32>
  %z = graph.call @keep(%x, %mean) under "layer" : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %l = graph.reduce mean %z dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x3xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.param "w" ones : tensor<3xf32>
  // expected-error @+1 {{'kept' is observed where no gradient passes, so that it would keep its value; let 'graph.observe' return a tensor that the loss reads by ops with a gradient}}
  %kept = graph.param "kept" zeros frozen : tensor<3xf32>
  %y = graph.multiply %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %z = graph.observe last %y, %kept, %w : tensor<?x3xf32>, tensor<3xf32>
  %fixed = graph.detach %z : tensor<?x3xf32>
  %s = graph.add %y, %fixed : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %l = graph.reduce mean %s dims [0, 1] : tensor<?x3xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}
