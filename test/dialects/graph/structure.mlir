// Parameters, state, functions and calls: assembly.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s

// CHECK: shard.grid @mesh(shape = 2x4) {graph.axis_names = ["dp", "tp"]}
shard.grid @mesh(shape = 2x4) {graph.axis_names = ["dp", "tp"]}
// CHECK: graph.parameter @h.0.w : tensor<16x3x4xf32> init normal(0.000000e+00, 2.000000e-02) stored [16, 12] decay placement <[replicate, shard(0)]>
graph.parameter @"h.0.w" : tensor<16x3x4xf32> init normal(0.0, 0.02) stored [16, 12] decay placement <[replicate, shard(0)]>
// CHECK: graph.parameter @bias : tensor<10xf32> init zeros placement <[shard(0), shard(0)]>
graph.parameter @bias : tensor<10xf32> init zeros placement <[shard(0), shard(0)]>
// CHECK: graph.parameter @split : tensor<4x8xf32> init zeros placement <[shard(0), shard(1)]> in_use <[replicate, shard(1)]>
graph.parameter @split : tensor<4x8xf32> init zeros placement <[shard(0), shard(1)]> in_use <[replicate, shard(1)]>
// CHECK: graph.parameter @ones : tensor<16xf32> init ones
graph.parameter @ones : tensor<16xf32> init ones
// CHECK: graph.parameter @half : tensor<16xf32> init constant(5.000000e-01) decay
graph.parameter @half : tensor<16xf32> init constant(0.5) decay
// CHECK: graph.state @bias.exp_avg of @bias : tensor<10xf32> placement <[shard(0), replicate]>
graph.state @"bias.exp_avg" of @bias : tensor<10xf32> placement <[shard(0), replicate]>
// In another element type than its parameter.
// CHECK: graph.state @bias.low of @bias : tensor<10xbf16> init constant(1.{{0*}}e+00)
graph.state @bias.low of @bias : tensor<10xbf16> init constant(1.0)
// Without a parameter, of any type and shape.
// CHECK: graph.state @calls : tensor<i64>
// CHECK-NOT: init
// CHECK: graph.state @running_mean : tensor<3xf32> init ones placement <[replicate, replicate]>
graph.state @calls : tensor<i64> init zeros
graph.state @running_mean : tensor<3xf32> init ones placement <[replicate, replicate]>

// CHECK: graph.func private @block(%{{.*}}: tensor<?x16xf32>, %{{.*}}: tensor<16xf32>) -> tensor<?x16xf32> {
graph.func private @block(%x: tensor<?x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32> {
  %0 = graph.add %x, %b : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  // CHECK: graph.return %{{.*}} : tensor<?x16xf32>
  graph.return %0 : tensor<?x16xf32>
}

// CHECK: graph.func private @kernel_0() attributes {kernel, kernel_range = 8 : i64} {
graph.func private @kernel_0() attributes {kernel, kernel_range = 8 : i64} {
  // CHECK: graph.return
  graph.return
}

// Split dims are read as this rank's part: 16 over 4, and 10 over 2 then 4, rounded up.
// Axis 1 splits dim 0 outside of axis 0; of dim 1 a rank has two pieces.
// CHECK: graph.parameter @ordered : tensor<16x8xf32> init zeros placement <[shard(0, level 1), shard(0)]>
graph.parameter @ordered : tensor<16x8xf32> init zeros placement <[shard(0, level 1), shard(0)]>
// CHECK: graph.parameter @pieces : tensor<16x8xf32> init zeros placement <[shard(0), shard(1, zigzag)]>
graph.parameter @pieces : tensor<16x8xf32> init zeros placement <[shard(0), shard(1, zigzag)]>

// CHECK: graph.func @microbatch(%{{.*}}: tensor<?x16xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>})
// CHECK-SAME: -> (tensor<?x16xf32> {graph.output = "loss", graph.placement = #graph.placement<[partial(sum), partial(max)]>})
graph.func @microbatch(%x: tensor<?x16xf32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>})
    -> (tensor<?x16xf32> {graph.output = "loss", graph.placement = #graph.placement<[partial(sum), partial(max)]>}) {
  // CHECK: graph.get @ones : tensor<16xf32>
  %ones = graph.get @ones : tensor<16xf32>
  // CHECK: graph.get @h.0.w : tensor<4x3x4xf32>
  %w = graph.get @"h.0.w" : tensor<4x3x4xf32>
  // CHECK: graph.get @bias : tensor<2xf32>
  %b = graph.get @bias : tensor<2xf32>
  // CHECK: graph.get @bias.exp_avg : tensor<10xf32>
  %whole = graph.get @"bias.exp_avg" : tensor<10xf32>
  // CHECK: graph.get @bias.exp_avg : tensor<5xf32>
  %m = graph.get @"bias.exp_avg" : tensor<5xf32>
  // CHECK: graph.call @block(%{{.*}}, %{{.*}}) instance 3 : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %y = graph.call @block(%x, %ones) instance 3 : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  // CHECK: graph.call @kernel_0() : () -> ()
  graph.call @kernel_0() : () -> ()
  // CHECK: graph.set @bias, %{{.*}} : tensor<2xf32>
  graph.set @bias, %b : tensor<2xf32>
  // CHECK: graph.input seed : tensor<i64>
  %seed = graph.input seed : tensor<i64>
  graph.return %y : tensor<?x16xf32>
}

// The arguments of @loss are inputs by their names; one that is shown otherwise keeps its name in an attribute.
// CHECK: graph.func @loss(%images: tensor<?x8xf32>, %y.1-a_b: tensor<?xi32>, %labels: tensor<?xi32>) {
graph.func @loss(%images: tensor<?x8xf32>, %y.1-a_b: tensor<?xi32>, %z: tensor<?xi32> {graph.input = "labels"}) {
  graph.return
}

// Of a parameter with repeats a function reads all as a stack.
// CHECK: graph.parameter @"h.{}.w" : tensor<16xf32> init ones repeats 3
graph.parameter @"h.{}.w" : tensor<16xf32> init ones repeats 3 placement <[replicate, shard(0)]>
// CHECK: graph.state @"h.{}.w.momentum" of @"h.{}.w" : tensor<16xf32>
graph.state @"h.{}.w.momentum" of @"h.{}.w" : tensor<16xf32>
// CHECK-LABEL: graph.func @stacks
graph.func @stacks() {
  // CHECK: %[[W:.*]] = graph.get @"h.{}.w" : !graph.stack<3 x tensor<4xf32>>
  %w = graph.get @"h.{}.w" : !graph.stack<3 x tensor<4xf32>>
  // CHECK: graph.get @"h.{}.w.momentum" : !graph.stack<3 x tensor<16xf32>>
  %m = graph.get @"h.{}.w.momentum" : !graph.stack<3 x tensor<16xf32>>
  // CHECK: graph.set @"h.{}.w", %[[W]] : !graph.stack<3 x tensor<4xf32>>
  graph.set @"h.{}.w", %w : !graph.stack<3 x tensor<4xf32>>
  graph.return
}
