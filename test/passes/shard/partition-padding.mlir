// RUN: dtc-opt %s --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s

// 13 words on 4 ranks: every rank holds 4 rows, the last one 1 of them; ops that read indices get a window.
module {
  shard.grid @mesh(shape = 1x4) {graph.axis_names = ["replicas", "parts"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @table : tensor<13x8xf32> init zeros placement <[replicate, shard(0)]>
  // CHECK-LABEL: graph.func @microbatch
  graph.func @microbatch(%tokens: tensor<4x64xi32> {graph.input = "tokens"}, %targets: tensor<4x64xi32> {graph.input = "targets"})
      -> (tensor<4x64xf32> {graph.accumulated = "loss"}) {
    // CHECK: %[[T:.*]] = graph.get @table : tensor<4x8xf32>
    %table = graph.get @table : tensor<13x8xf32>
    // CHECK: %[[E:.*]] = graph.embedding %[[T]], %{{.*}} {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = {{[0-9]+}}, local = 4, global = 13, axes = [1]>]}
    // CHECK: %[[X:.*]] = shard.all_reduce %[[E]] {{.*}}<activation>
    %x = graph.embedding %table, %tokens {graph.splits = array<i64: -1, 3>} : (tensor<13x8xf32>, tensor<4x64xi32>) -> tensor<4x64x8xf32>
    // CHECK: %[[L:.*]] = graph.linear %[[X]], %[[T]] transposed {{.*}} -> tensor<4x64x4xf32>
    %logits = graph.linear %x, %table transposed {graph.splits = array<i64: -1, 2>} : (tensor<4x64x8xf32>, tensor<13x8xf32>) -> tensor<4x64x13xf32>
    // CHECK: %[[M:.*]] = graph.reduce max %[[L]] dims [2] {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = 2, local = 4, global = 13, axes = [1]>]}
    // CHECK: %[[MAX:.*]] = shard.all_reduce %[[M]] on @mesh grid_axes = [1] reduction = max {graph.communication = #graph.communication<activation>}
    // CHECK: %[[S:.*]] = graph.sum_exp %[[L]], %[[MAX]] {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = 2, local = 4, global = 13, axes = [1]>]}
    // CHECK: %[[P:.*]] = graph.pick %[[L]], %{{.*}} {graph.unfinished = array<i64: 2>, windows = [#graph.window<loop = 2, local = 4, global = 13, axes = [1]>]}
    %max = graph.reduce max %logits dims [2] {graph.splits = array<i64: -1, 2>} : tensor<4x64x13xf32> -> tensor<4x64xf32>
    %sum = graph.sum_exp %logits, %max {graph.splits = array<i64: -1, 2>} : (tensor<4x64x13xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    %picked = graph.pick %logits, %targets {graph.splits = array<i64: -1, 2>} : (tensor<4x64x13xf32>, tensor<4x64xi32>) -> tensor<4x64xf32>
    %loss = graph.subtract %sum, %picked : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.return %loss : tensor<4x64xf32>
  }
  graph.func @update(%loss: tensor<4x64xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
