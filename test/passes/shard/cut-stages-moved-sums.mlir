// Two stages each add to the gradient of a table that both read. What moves their sum, a pad, a slice, a collective, each rank's part of
// it, is done to either part in its own stage; no gradient of the table goes from stage to stage but in the step's end.
// RUN: dtc-opt %s --dtc-cut-stages --canonicalize --cse | FileCheck %s

// CHECK:      module @stage_0 attributes
// CHECK:        graph.func @microbatch
// CHECK:          graph.receive chunk 0 from 1 "gradient.0" {{.*}} : tensor<2x5xf32>
// CHECK-NOT:      graph.receive
// CHECK:          %[[D0:.*]] = graph.embedding_grad
// CHECK-NEXT:     %[[PADDED0:.*]] = graph.pad %[[D0]] dim 0 low 0 high 3 {graph.chunk = 0 : i64, graph.phase = "backward"}
// CHECK-NEXT:     %[[CUT0:.*]] = graph.slice %[[PADDED0]] dim 0 start 0 size 8 {graph.chunk = 0 : i64, graph.phase = "backward"}
// CHECK-NEXT:     %[[SUM0:.*]] = shard.all_reduce %[[CUT0]] on @mesh grid_axes = [1] {graph.chunk = 0 : i64
// CHECK-NEXT:     %[[PART0:.*]] = shard.all_slice %[[SUM0]] on @mesh grid_axes = [1] slice_axis = 0 {graph.chunk = 0 : i64
// CHECK-NEXT:     graph.return %[[PART0]] : tensor<4x5xf32>
// CHECK:        graph.func @update
// CHECK:          graph.stage_reduce{{ +}}sum %{{.*}} stages [0, 1] <gradient> : tensor<4x5xf32>
// CHECK:      module @stage_1 attributes
// CHECK:          %[[D1:.*]] = graph.linear_weight_grad
// CHECK-NEXT:     %[[PADDED1:.*]] = graph.pad %[[D1]] dim 0 low 0 high 3 {graph.chunk = 1 : i64
// CHECK-NEXT:     %[[CUT1:.*]] = graph.slice %[[PADDED1]] dim 0 start 0 size 8 {graph.chunk = 1 : i64
// CHECK-NEXT:     %[[SUM1:.*]] = shard.all_reduce %[[CUT1]] on @mesh grid_axes = [1] {graph.chunk = 1 : i64
// CHECK-NEXT:     %[[PART1:.*]] = shard.all_slice %[[SUM1]] on @mesh grid_axes = [1] slice_axis = 0 {graph.chunk = 1 : i64
// CHECK-NOT:      graph.send {{.*}} tensor<7x5xf32>
// CHECK:          graph.return %{{.*}}, %[[PART1]] :
module attributes {graph.micro_batches = 1 : i64, graph.stage_of_chunk = array<i64: 0, 1>, graph.zero = 2 : i64} {
  shard.grid @mesh(shape = 2x2x1) {graph.axis_names = ["pp", "dp", "tp"], graph.axis_roles = ["pipeline", "data", "tensor"]}
  graph.parameter @table : tensor<7x5xf32> init normal(0.000000e+00, 2.000000e-02) placement <[replicate, replicate, replicate]>
  graph.state @table.sum of @table : tensor<7x5xf32>  placement <[replicate, shard(0), replicate]>
  graph.func @microbatch(%tokens: tensor<2xi32> {graph.below = 7 : i64, graph.input = "tokens", graph.placement = #graph.placement<[replicate, shard(0), replicate]>}, %targets: tensor<2xi32> {graph.below = 7 : i64, graph.input = "targets", graph.placement = #graph.placement<[replicate, shard(0), replicate]>}) -> (tensor<f32> {graph.accumulated = "loss", graph.placement = #graph.placement<[replicate, partial(sum), replicate]>}, tensor<4x5xf32> {graph.gradient_of = @table, graph.placement = #graph.placement<[replicate, shard(0), replicate]>}) {
    %0 = graph.constant 2.500000e-01 : tensor<4xf32>
    %1 = graph.get @table : tensor<7x5xf32>
    %2 = graph.embedding %1, %tokens {graph.chunk = 0 : i64} : (tensor<7x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>
    %3 = graph.exp %2 {graph.chunk = 0 : i64} : tensor<2x5xf32>
    %4 = graph.linear %3, %1 transposed {graph.chunk = 1 : i64} : (tensor<2x5xf32>, tensor<7x5xf32>) -> tensor<2x7xf32>
    %loss, %lse = graph.cross_entropy %4, %targets {graph.chunk = 1 : i64} : (tensor<2x7xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>)
    %5 = graph.reduce sum %loss dims [0] scale 2.500000e-01 {graph.chunk = 1 : i64} : tensor<2xf32> -> tensor<f32>
    %all_slice = shard.all_slice %0 on @mesh grid_axes = [1] slice_axis = 0 : tensor<4xf32> -> tensor<2xf32>
    %6 = graph.cross_entropy_grad %4, %targets, %lse, %all_slice {graph.chunk = 1 : i64} : (tensor<2x7xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x7xf32>
    %7 = graph.linear %6, %1 {graph.chunk = 1 : i64} : (tensor<2x7xf32>, tensor<7x5xf32>) -> tensor<2x5xf32>
    %8 = graph.linear_weight_grad %3, %6 transposed {graph.chunk = 1 : i64} : (tensor<2x5xf32>, tensor<2x7xf32>) -> tensor<7x5xf32>
    %9 = graph.multiply %7, %3 {graph.chunk = 0 : i64} : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %10 = graph.embedding_grad %tokens, %9 {graph.chunk = 0 : i64} : (tensor<2xi32>, tensor<2x5xf32>) -> tensor<7x5xf32>
    %sum = graph.add %8, %10 {graph.chunk = 0 : i64} : (tensor<7x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>
    %padded = graph.pad %sum dim 0 low 0 high 3 : tensor<7x5xf32> -> tensor<10x5xf32>
    %cut = graph.slice %padded dim 0 start 0 size 8 : tensor<10x5xf32> -> tensor<8x5xf32>
    %reduced = shard.all_reduce %cut on @mesh grid_axes = [1] {graph.communication = #graph.communication<gradient async>} : tensor<8x5xf32> -> tensor<8x5xf32>
    %13 = shard.all_slice %reduced on @mesh grid_axes = [1] slice_axis = 0 : tensor<8x5xf32> -> tensor<4x5xf32>
    graph.return %5, %13 : tensor<f32>, tensor<4x5xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss", graph.placement = #graph.placement<[replicate, partial(sum), replicate]>}, %gradient: tensor<4x5xf32> {graph.gradient_of = @table, graph.placement = #graph.placement<[replicate, shard(0), replicate]>}) -> (tensor<f32> {graph.output = "loss", graph.placement = #graph.placement<[replicate, replicate, replicate]>}) {
    %all_reduce = shard.all_reduce %loss on @mesh grid_axes = [1] {graph.communication = #graph.communication<control>} : tensor<f32> -> tensor<f32>
    graph.set @table.sum, %gradient : tensor<4x5xf32>
    graph.return %all_reduce : tensor<f32>
  }
}
