// Three chunks add to the gradient of a table, the first and the last in one stage: their sum is made with the first's backward
// pass, which is the later one.
// RUN: dtc-opt %s --dtc-cut-stages --canonicalize --cse | FileCheck %s

// CHECK:      module @stage_0 attributes
// CHECK:        graph.func @microbatch
// CHECK-DAG:      %[[HEAD:.*]] = graph.linear_weight_grad {{.*}} {graph.chunk = 2 : i64
// CHECK-DAG:      %[[TABLE:.*]] = graph.embedding_grad {{.*}} {graph.chunk = 0 : i64
// CHECK:          %[[SUM:.*]] = graph.add %[[HEAD]], %[[TABLE]] {graph.chunk = 0 : i64, graph.phase = "backward"}
// CHECK:          graph.return {{.*}}%[[SUM]]
// CHECK:        graph.func @update
// CHECK:          graph.stage_reduce{{ +}}sum %{{.*}} stages [0, 1] <gradient> : tensor<7x5xf32>
// CHECK:      module @stage_1 attributes
// CHECK:          %[[MIDDLE:.*]] = graph.embedding_grad {{.*}} {graph.chunk = 1 : i64
// CHECK:          graph.return %[[MIDDLE]] :
module attributes {graph.micro_batches = 1 : i64, graph.stage_of_chunk = array<i64: 0, 1, 0>} {
  shard.grid @mesh(shape = 2x1x1) {graph.axis_names = ["pp", "dp", "tp"], graph.axis_roles = ["pipeline", "data", "tensor"]}
  graph.parameter @table : tensor<7x5xf32> init normal(0.000000e+00, 2.000000e-02) placement <[replicate, replicate, replicate]>
  graph.state @table.sum of @table : tensor<7x5xf32>  placement <[replicate, replicate, replicate]>
  graph.func @microbatch(%tokens: tensor<2xi32> {graph.below = 7 : i64, graph.input = "tokens", graph.placement = #graph.placement<[replicate, replicate, replicate]>}, %targets: tensor<2xi32> {graph.below = 7 : i64, graph.input = "targets", graph.placement = #graph.placement<[replicate, replicate, replicate]>}) -> (tensor<f32> {graph.accumulated = "loss", graph.placement = #graph.placement<[replicate, replicate, replicate]>}, tensor<7x5xf32> {graph.gradient_of = @table, graph.placement = #graph.placement<[replicate, replicate, replicate]>}) {
    %0 = graph.constant 5.000000e-01 : tensor<2xf32>
    %1 = graph.get @table : tensor<7x5xf32>
    %2 = graph.embedding %1, %tokens {graph.chunk = 0 : i64} : (tensor<7x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>
    %3 = graph.embedding %1, %tokens {graph.chunk = 1 : i64} : (tensor<7x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>
    %4 = graph.multiply %2, %3 {graph.chunk = 1 : i64} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %5 = graph.linear %4, %1 transposed {graph.chunk = 2 : i64} : (tensor<2x5xf32>, tensor<7x5xf32>) -> tensor<2x7xf32>
    %loss, %lse = graph.cross_entropy %5, %targets {graph.chunk = 2 : i64} : (tensor<2x7xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>)
    %6 = graph.reduce sum %loss dims [0] scale 5.000000e-01 {graph.chunk = 2 : i64} : tensor<2xf32> -> tensor<f32>
    %7 = graph.cross_entropy_grad %5, %targets, %lse, %0 {graph.chunk = 2 : i64} : (tensor<2x7xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x7xf32>
    %8 = graph.linear %7, %1 {graph.chunk = 2 : i64} : (tensor<2x7xf32>, tensor<7x5xf32>) -> tensor<2x5xf32>
    %9 = graph.linear_weight_grad %4, %7 transposed {graph.chunk = 2 : i64} : (tensor<2x5xf32>, tensor<2x7xf32>) -> tensor<7x5xf32>
    %10 = graph.multiply %8, %2 {graph.chunk = 1 : i64} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %11 = graph.embedding_grad %tokens, %10 {graph.chunk = 1 : i64} : (tensor<2xi32>, tensor<2x5xf32>) -> tensor<7x5xf32>
    %12 = graph.multiply %8, %3 {graph.chunk = 1 : i64} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %13 = graph.embedding_grad %tokens, %12 {graph.chunk = 0 : i64} : (tensor<2xi32>, tensor<2x5xf32>) -> tensor<7x5xf32>
    %14 = graph.add %9, %11 {graph.chunk = 1 : i64} : (tensor<7x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>
    %sum = graph.add %14, %13 {graph.chunk = 0 : i64} : (tensor<7x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>
    graph.return %6, %sum : tensor<f32>, tensor<7x5xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss", graph.placement = #graph.placement<[replicate, replicate, replicate]>}, %gradient: tensor<7x5xf32> {graph.gradient_of = @table, graph.placement = #graph.placement<[replicate, replicate, replicate]>}) -> (tensor<f32> {graph.output = "loss", graph.placement = #graph.placement<[replicate, replicate, replicate]>}) {
    graph.set @table.sum, %gradient : tensor<7x5xf32>
    graph.return %loss : tensor<f32>
  }
}
