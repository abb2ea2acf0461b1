// RUN: dtc-opt %s --dtc-place -split-input-file | FileCheck %s

// A gated MLP as Megatron splits it: both products that read %x by columns, the last one by rows. In backward the two
// gradients of %x are sums over the ranks that are added before they are finished.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  // CHECK: graph.parameter @gate : {{.*}} placement <[replicate, shard(1)]>
  graph.parameter @gate : tensor<512x2048xf32> init zeros
  // CHECK: graph.parameter @up : {{.*}} placement <[replicate, shard(1)]>
  graph.parameter @up : tensor<512x2048xf32> init zeros
  // CHECK: graph.parameter @down : {{.*}} placement <[replicate, shard(0)]>
  graph.parameter @down : tensor<2048x512xf32> init zeros
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x256x512xf32> {graph.input = "tokens"}) -> (tensor<4x256x512xf32> {graph.accumulated = "loss"},
      tensor<512x2048xf32> {graph.gradient_of = @gate}, tensor<512x2048xf32> {graph.gradient_of = @up}, tensor<2048x512xf32> {graph.gradient_of = @down}) {
    %gate = graph.get @gate : tensor<512x2048xf32>
    %up = graph.get @up : tensor<512x2048xf32>
    %down = graph.get @down : tensor<2048x512xf32>
    // CHECK: graph.linear %{{.*}}, %{{.*}} {graph.splits = array<i64: -1, 2>}
    %0 = graph.linear %x, %gate : (tensor<4x256x512xf32>, tensor<512x2048xf32>) -> tensor<4x256x2048xf32>
    // CHECK: graph.linear %{{.*}}, %{{.*}} {graph.splits = array<i64: -1, 2>}
    %1 = graph.linear %x, %up : (tensor<4x256x512xf32>, tensor<512x2048xf32>) -> tensor<4x256x2048xf32>
    // CHECK: graph.silu %{{.*}} {graph.splits = array<i64: -1, 2>}
    %2 = graph.silu %0 : tensor<4x256x2048xf32>
    %3 = graph.multiply %2, %1 : (tensor<4x256x2048xf32>, tensor<4x256x2048xf32>) -> tensor<4x256x2048xf32>
    // CHECK: graph.linear %{{.*}}, %{{.*}} {graph.splits = array<i64: -1, 3>}
    %4 = graph.linear %3, %down : (tensor<4x256x2048xf32>, tensor<2048x512xf32>) -> tensor<4x256x512xf32>
    %5 = graph.exp %4 : tensor<4x256x512xf32>
    %6 = graph.linear %5, %down transposed : (tensor<4x256x512xf32>, tensor<2048x512xf32>) -> tensor<4x256x2048xf32>
    // CHECK: graph.linear %{{.*}}, %{{.*}} transposed {graph.splits = array<i64: -1, 3>}
    %7 = graph.linear %6, %gate transposed : (tensor<4x256x2048xf32>, tensor<512x2048xf32>) -> tensor<4x256x512xf32>
    // CHECK: graph.linear %{{.*}}, %{{.*}} transposed {graph.splits = array<i64: -1, 3>}
    %8 = graph.linear %6, %up transposed : (tensor<4x256x2048xf32>, tensor<512x2048xf32>) -> tensor<4x256x512xf32>
    // CHECK: graph.add %{{.*}}, %{{.*}} {graph.splits = array<i64: -1, -2>}
    %9 = graph.add %7, %8 : (tensor<4x256x512xf32>, tensor<4x256x512xf32>) -> tensor<4x256x512xf32>
    %10 = graph.exp %9 : tensor<4x256x512xf32>
    %11 = graph.linear_weight_grad %10, %6 : (tensor<4x256x512xf32>, tensor<4x256x2048xf32>) -> tensor<512x2048xf32>
    %12 = graph.linear_weight_grad %x, %6 : (tensor<4x256x512xf32>, tensor<4x256x2048xf32>) -> tensor<512x2048xf32>
    %13 = graph.linear_weight_grad %3, %5 : (tensor<4x256x2048xf32>, tensor<4x256x512xf32>) -> tensor<2048x512xf32>
    graph.return %10, %11, %12, %13 : tensor<4x256x512xf32>, tensor<512x2048xf32>, tensor<512x2048xf32>, tensor<2048x512xf32>
  }
  graph.func @update(%loss: tensor<4x256x512xf32> {graph.accumulated = "loss"}, %a: tensor<512x2048xf32> {graph.gradient_of = @gate},
      %b: tensor<512x2048xf32> {graph.gradient_of = @up}, %c: tensor<2048x512xf32> {graph.gradient_of = @down}) {
    graph.return
  }
}

// -----

// What is passed from call to call is split over samples, what a forward block saves for its backward stays where it was
// made, and the squares of a gradient stay an unfinished sum until their root is wanted.
module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @w : tensor<16x16xf32> init zeros
  // CHECK-LABEL: graph.func private @forward
  // CHECK-SAME: tensor<4x8x16xf32> {graph.placement = #graph.placement<[shard(0), replicate]>}
  // CHECK-SAME: -> (tensor<4x8x16xf32> {graph.placement = #graph.placement<[shard(0), replicate]>}, tensor<16xf32> {graph.placement = #graph.placement<[replicate, replicate]>, graph.saved})
  graph.func private @forward(%x: tensor<4x8x16xf32>, %w: tensor<16x16xf32>) -> (tensor<4x8x16xf32>, tensor<16xf32> {graph.saved}) {
    %0 = graph.linear %x, %w : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %1 = graph.reduce sum %0 dims [0, 1] : tensor<4x8x16xf32> -> tensor<16xf32>
    graph.return %0, %1 : tensor<4x8x16xf32>, tensor<16xf32>
  }
  graph.func private @backward(%s: tensor<16xf32>, %x: tensor<4x8x16xf32>, %dy: tensor<4x8x16xf32>) -> tensor<16x16xf32> {
    %0 = graph.multiply %dy, %s : (tensor<4x8x16xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
    %1 = graph.linear_weight_grad %x, %0 : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16x16xf32>
    graph.return %1 : tensor<16x16xf32>
  }
  // CHECK-LABEL: graph.func @microbatch
  // CHECK-SAME: tensor<16x16xf32> {graph.gradient_of = @w, graph.placement = #graph.placement<[partial(sum), replicate]>}
  graph.func @microbatch(%x: tensor<4x8x16xf32> {graph.input = "tokens"}) -> (tensor<16x16xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w : tensor<16x16xf32>
    %y, %s = graph.call @forward(%x, %w) : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> (tensor<4x8x16xf32>, tensor<16xf32>)
    %g = graph.call @backward(%s, %x, %y) : (tensor<16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16x16xf32>
    graph.return %g : tensor<16x16xf32>
  }
  // CHECK-LABEL: graph.func @update
  graph.func @update(%g: tensor<16x16xf32> {graph.gradient_of = @w}) {
    graph.return
  }
}
