// Tied embeddings of two stages whose gradient ranks scatter in every micro-batch (ZeRO-2), 7 rows over 2 of them: each stage
// pads and scatters its own part, and the parts of parts are added up over the stages once a step.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-set-mesh="pp=2 dp=2 zero=2" --dtc-place --dtc-partition --canonicalize --cse --dtc-cut-stages --canonicalize --cse | FileCheck %s

// CHECK:      module @stage_0 attributes
// CHECK:        graph.func @microbatch
// CHECK:          graph.receive chunk 0 from 1 "gradient.0"
// CHECK-NOT:      graph.receive
// CHECK:          %[[D:.*]] = graph.embedding_grad
// CHECK:          %[[PADDED:.*]] = graph.pad %[[D]]
// CHECK:          %[[PART:.*]] = shard.reduce_scatter %[[PADDED]] on @mesh grid_axes = [1]
// CHECK:          graph.return %[[PART]] : tensor<4x5xf32>
// CHECK:        graph.func @update(%[[G:[^:]*]]: tensor<4x5xf32>
// CHECK:          graph.stage_reduce{{ +}}sum %[[G]] stages [0, 1] <gradient> : tensor<4x5xf32>
// CHECK:      module @stage_1 attributes
// CHECK:          graph.linear_weight_grad
// CHECK:          shard.reduce_scatter
// CHECK-NOT:      graph.send {{.*}} tensor<7x5xf32>
// CHECK:        graph.func @update
// CHECK:          graph.stage_reduce{{ +}}sum %{{.*}} stages [0, 1] <gradient> : tensor<4x5xf32>
module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.parameter @table : tensor<7x5xf32> init normal(0.0, 0.02)
  graph.func @loss(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> tensor<f32> {
    %table = graph.get @table : tensor<7x5xf32>
    %x = graph.embedding %table, %tokens {graph.chunk = 0 : i64} : (tensor<7x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>
    %y = graph.exp %x {graph.chunk = 0 : i64} : tensor<4x5xf32>
    %logits = graph.linear %y, %table transposed {graph.chunk = 1 : i64} : (tensor<4x5xf32>, tensor<7x5xf32>) -> tensor<4x7xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets {graph.chunk = 1 : i64} : (tensor<4x7xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    %mean = graph.reduce sum %rows dims [0] scale 0.25 {graph.chunk = 1 : i64} : tensor<4xf32> -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
