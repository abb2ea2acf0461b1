// Blocks, the parameters that they declare, calls and repeats: assembly.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s

// CHECK-LABEL: graph.func private @block
graph.func private @block(%x: tensor<?x16xf32>, %scale: tensor<f32>) -> tensor<?x16xf32> {
  // CHECK: %{{.*}}:2 = graph.param "ln.weight" ones, "ln.bias" constant(5.000000e-01) : tensor<16xf32>, tensor<16xf32>
  %w, %b = graph.param "ln.weight" ones, "ln.bias" constant(0.5) : tensor<16xf32>, tensor<16xf32>
  // CHECK: graph.param "proj" normal(0.000000e+00, 2.000000e-02) stored {{\[\[}}0], [1, 2]] decay : tensor<16x2x8xf32>
  %p = graph.param "proj" normal(0.0, 0.02) stored [[0], [1, 2]] decay : tensor<16x2x8xf32>
  // CHECK: graph.param "kept" ones frozen, "both" zeros decay frozen, "other order" zeros decay frozen : tensor<16xf32>
  %k, %q, %o = graph.param "kept" ones frozen, "both" zeros decay frozen, "other order" zeros frozen decay : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  %0 = graph.multiply %x, %w : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  graph.return %0 : tensor<?x16xf32>
}

graph.func private @layer(%x: tensor<?x16xf32>, %sum: tensor<f32>, %w: tensor<16xf32>) -> (tensor<?x16xf32>, tensor<f32>, tensor<?x16xf32>) {
  %0 = graph.multiply %x, %w : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  graph.return %0, %sum, %x : tensor<?x16xf32>, tensor<f32>, tensor<?x16xf32>
}

// CHECK-LABEL: graph.func @f
graph.func @f(%x: tensor<?x16xf32>, %ws: !graph.stack<4 x tensor<16xf32>>) {
  %one = graph.constant 1.0 : tensor<f32>
  // CHECK: graph.call @block(%{{.*}}, %{{.*}}) under "encoder" : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  %0 = graph.call @block(%x, %one) under "encoder" : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  // CHECK: graph.repeat 12 @block(%{{.*}}, %{{.*}}) under "h.{}" instance 2 : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  %1 = graph.repeat 12 @block(%0, %one) under "h.{}" instance 2 : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  // CHECK: graph.repeat 4 reversed @layer(%{{.*}}, %{{.*}}, %{{.*}}) carrying 2 : (tensor<?x16xf32>, tensor<f32>, !graph.stack<4 x tensor<16xf32>>)
  // CHECK-SAME: -> (tensor<?x16xf32>, tensor<f32>, !graph.stack<4 x tensor<?x16xf32>>)
  %2:3 = graph.repeat 4 reversed @layer(%1, %one, %ws) carrying 2 : (tensor<?x16xf32>, tensor<f32>, !graph.stack<4 x tensor<16xf32>>)
    -> (tensor<?x16xf32>, tensor<f32>, !graph.stack<4 x tensor<?x16xf32>>)
  graph.return
}
