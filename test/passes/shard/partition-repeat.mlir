// A repeat is partitioned as one: its block once, what is in stacks entry by entry.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer=optimizer=sgd --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse -split-input-file | FileCheck %s

module attributes {graph.zero = 1 : i64} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  // CHECK: graph.parameter @"h.{}.w" {{.*}} repeats 3 placement <[replicate, shard(1)]>
  graph.parameter @"h.{}.w" : tensor<8x8xf32> init ones repeats 3
  // CHECK: graph.state @"h.{}.w.momentum" {{.*}} placement <[shard(0), shard(1)]>
  graph.func private @block(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %z = graph.silu %y : tensor<4x8xf32>
    graph.return %z : tensor<4x8xf32>
  }
  // What is carried is split over samples from execution to execution, also where a constant starts it; gradients leave as
  // unfinished sums.
  // CHECK-LABEL: graph.func @microbatch
  // CHECK-SAME:  !graph.stack<3 x tensor<8x4xf32>> {graph.gradient_of = @"h.{}.w", graph.placement = #graph.placement<[partial(sum), shard(1)]>}
  // CHECK:       graph.repeat 3 @block_forward(%{{.*}}) : (tensor<2x8xf32>, !graph.stack<3 x tensor<8x4xf32>>)
  // CHECK:       graph.repeat 3 reversed @block_backward(%{{.*}}) : (tensor<2x8xf32>
  graph.func @loss(%x: tensor<4x8xf32> {graph.input = "x"}) -> tensor<f32> {
    %ws = graph.get @"h.{}.w" : !graph.stack<3 x tensor<8x8xf32>>
    %y = graph.repeat 3 @block(%x, %ws) : (tensor<4x8xf32>, !graph.stack<3 x tensor<8x8xf32>>) -> tensor<4x8xf32>
    %m = graph.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
  // CHECK-LABEL: graph.func private @block_backward
  // CHECK-NOT:   grid_axes = [0]
  // CHECK:       graph.return
  // Gradients go to where state is layer by layer; the sum of squares stays unfinished through all layers; new parameters
  // leave the block of a layer as they rest.
  // CHECK-LABEL: graph.func @update
  // CHECK:       %[[G:.*]] = graph.repeat 3 @move(%{{.*}}) carrying 0 : (!graph.stack<3 x tensor<8x4xf32>>) -> !graph.stack<3 x tensor<4x4xf32>>
  // CHECK:       %[[S:.*]] = graph.repeat 3 @squares(%{{.*}}, %[[G]])
  // CHECK:       shard.all_reduce %[[S]] on @mesh grid_axes = [0, 1] {graph.communication = #graph.communication<control>}
  // CHECK:       %[[W:.*]]:2 = graph.repeat 3 @update_layer({{.*}}) carrying 0
  // CHECK:       graph.set @"h.{}.w", %[[W]]#0 : !graph.stack<3 x tensor<8x4xf32>>
  // CHECK-LABEL: graph.func private @move
  // CHECK:       shard.reduce_scatter {{.*}} {graph.communication = #graph.communication<gradient async>} : tensor<8x4xf32> -> tensor<4x4xf32>
  // CHECK-LABEL: graph.func private @update_layer
  // CHECK:       graph.sgd
  // CHECK:       shard.all_gather {{.*}} {graph.communication = #graph.communication<parameter async>} : tensor<4x4xf32> -> tensor<8x4xf32>
}

// -----

// Parameters that do not rest where they are used go into the block as they rest, and are gathered there, once each time.
module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @"h.{}.w" : tensor<8x8xf32> init ones repeats 3 placement <[shard(0), replicate]> in_use <[replicate, replicate]>
  graph.func private @block(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %v = graph.linear %y, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %z = graph.silu %v : tensor<4x8xf32>
    graph.return %z : tensor<4x8xf32>
  }
  // CHECK-LABEL: graph.func @microbatch
  // CHECK:       %[[B:.*]]:2 = graph.repeat 3 reversed @block_backward{{.*}} -> (tensor<2x8xf32>, !graph.stack<3 x tensor<4x8xf32>>)
  // CHECK-NEXT:  graph.return {{.*}}%[[B]]#1
  // CHECK-LABEL: graph.func private @block_forward
  // CHECK-SAME:  tensor<4x8xf32>
  // CHECK:       shard.all_gather {{.*}} {graph.communication = #graph.communication<parameter async use 1>} : tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK-NOT:   shard.all_gather
  // CHECK-LABEL: graph.func private @block_backward
  // CHECK:       shard.all_gather {{.*}} {graph.communication = #graph.communication<parameter async use 2>} : tensor<4x8xf32> -> tensor<8x8xf32>
  // CHECK:       shard.reduce_scatter {{.*}} {graph.communication = #graph.communication<gradient async>} : tensor<8x8xf32> -> tensor<4x8xf32>
  graph.func @loss(%x: tensor<4x8xf32> {graph.input = "x"}) -> tensor<f32> {
    %ws = graph.get @"h.{}.w" : !graph.stack<3 x tensor<8x8xf32>>
    %y = graph.repeat 3 @block(%x, %ws) : (tensor<4x8xf32>, !graph.stack<3 x tensor<8x8xf32>>) -> tensor<4x8xf32>
    %m = graph.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}

// -----

// The gradient of a weight that all executions share is a sum that the repeat carries unfinished: it is finished once a step.
module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @shared : tensor<8x8xf32> init ones
  graph.func private @block(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %z = graph.silu %y : tensor<4x8xf32>
    graph.return %z : tensor<4x8xf32>
  }
  // CHECK-LABEL: graph.func @microbatch
  // CHECK-SAME:  tensor<8x8xf32> {graph.gradient_of = @shared, graph.placement = #graph.placement<[partial(sum), replicate]>}
  graph.func @loss(%x: tensor<4x8xf32> {graph.input = "x"}) -> tensor<f32> {
    %w = graph.get @shared : tensor<8x8xf32>
    %y = graph.repeat 3 @block(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %m = graph.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
  // CHECK-LABEL: graph.func private @block_backward
  // CHECK-NOT:   shard.
  // CHECK:       graph.return
  // CHECK-LABEL: graph.func @update
  // CHECK-COUNT-1: shard.all_reduce {{.*}} {graph.communication = #graph.communication<gradient async>} : tensor<8x8xf32>
}
