// What moves a tensor says what it is: elements of a parameter are parameters wherever they are moved to.
// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @w : tensor<4x6xf32> init zeros placement <[replicate, shard(0)]>
  graph.parameter @v : tensor<4x2xf32> init zeros placement <[replicate, shard(0)]>
  graph.func @microbatch(%x: tensor<4x2xf32> {graph.input = "x"})
      -> (tensor<6x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %w = graph.get @w : tensor<4x6xf32>
    %v = graph.get @v : tensor<4x2xf32>
    // CHECK: %[[T:.*]] = graph.transpose
    // CHECK: shard.all_gather %[[T]] {{.*}}<parameter async>
    %t = graph.transpose %w by [1, 0] {graph.splits = array<i64: -1, 0>} : tensor<4x6xf32> -> tensor<6x4xf32>
    %turned = graph.exp %t {graph.splits = array<i64: -1, -1>} : tensor<6x4xf32>
    // CHECK: %[[BOTH:.*]] = graph.concat
    // CHECK: shard.all_gather %[[BOTH]] {{.*}}<parameter async>
    %both = graph.concat %w, %v dim 1 {graph.splits = array<i64: -1, 0>} : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
    %joined = graph.exp %both {graph.splits = array<i64: -1, -1>} : tensor<4x8xf32>
    // With something else beside them they are what an op made.
    // CHECK: %[[MIXED:.*]] = graph.concat
    // CHECK: shard.all_gather %[[MIXED]] {{.*}}<activation
    %mixed = graph.concat %w, %x dim 1 {graph.splits = array<i64: -1, 0>} : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
    %other = graph.exp %mixed {graph.splits = array<i64: -1, -1>} : tensor<4x8xf32>
    graph.return %turned, %joined, %other : tensor<6x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  graph.func @update() -> (tensor<f32> {graph.output = "lr"}) {
    %lr = graph.input base_lr : tensor<f32>
    graph.return %lr : tensor<f32>
  }
}
