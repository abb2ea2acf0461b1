// A rank draws the numbers of its part of a whole dropout: it is told the shape of the whole and where its part begins.
// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

module {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x6x8xf32> {graph.input = "x"}) -> (tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<f32>) {
    %seed = graph.input seed : tensor<i64>
    %step = graph.input step : tensor<f32>
    // Samples over dp, columns over tp.
    // CHECK: graph.dropout {{.*}} id 3 {{.*}} {global_shape = array<i64: 4, 6, 8>, windows = [#graph.window<loop = 0, local = 2, global = 4, axes = [0]>, #graph.window<loop = 2, local = 4, global = 8, axes = [1]>]} : tensor<2x6x4xf32>
    %columns = graph.dropout %x p 0.1 id 3 key(%seed, %step) {graph.splits = array<i64: 0, 2>} : tensor<4x6x8xf32>
    // 6 rows over tp.
    // CHECK: graph.dropout {{.*}} id 4 {{.*}} {global_shape = array<i64: 4, 6, 8>, windows = [#graph.window<loop = 0, local = 2, global = 4, axes = [0]>, #graph.window<loop = 1, local = 3, global = 6, axes = [1]>]} : tensor<2x3x8xf32>
    %rows = graph.dropout %x p 0.1 id 4 key(%seed, %step) {graph.splits = array<i64: 0, 1>} : tensor<4x6x8xf32>
    %loss = graph.constant 0.0 : tensor<f32>
    graph.return %columns, %rows, %loss : tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<f32>
  }
  graph.func @update() -> (tensor<f32> {graph.output = "lr"}) {
    %lr = graph.input base_lr : tensor<f32>
    graph.return %lr : tensor<f32>
  }
}
