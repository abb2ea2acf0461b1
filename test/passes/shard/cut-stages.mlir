// Two stages with a chunk each; embeddings are tied, so that both ends of the model have them.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-set-mesh="pp=2 dp=2" --dtc-place --dtc-partition --canonicalize --cse --dtc-cut-stages --canonicalize --cse | FileCheck %s
// Four chunks in turn are on two stages.
// RUN: sed 's/array<i64: 0, 1>/array<i64: 0, 1, 0, 1>/; s/%logits = \(.*\)chunk = 1/%logits = \1chunk = 3/; s/%rows, \(.*\)chunk = 1/%rows, \1chunk = 3/; s/%mean \(.*\)chunk = 1/%mean \1chunk = 3/; s/%z\(.*\)chunk = 1/%z\1chunk = 2/; s/h.{2}\(.*\)chunk = 1/h.{2}\1chunk = 2/; s/%y \(.*\)chunk = 0/%y \1chunk = 1/; s/h.{}\(.*\)chunk = 0/h.{}\1chunk = 1/' %s | dtc-opt --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-set-mesh="pp=2 dp=2" --dtc-place --dtc-partition --canonicalize --cse --dtc-cut-stages --canonicalize --cse | FileCheck %s --check-prefix=TURNS

// The module around has the mesh and nothing else.
// CHECK:      module attributes
// CHECK-NEXT:   shard.grid @mesh(shape = 2x2x1) {graph.axis_names = ["pp", "dp", "tp"], graph.axis_roles = ["pipeline", "data", "tensor"]}
// A stage has what it reads: its layers and the table, its input, its blocks.
// CHECK-NEXT:   module @stage_0 attributes {{{.*}}graph.stage = 0 : i64, graph.stage_of_chunk = array<i64: 0, 1>
// CHECK-NEXT:     shard.grid @mesh
// CHECK-NEXT:     graph.parameter @table
// CHECK-NEXT:     graph.parameter @"h.{}.w"
// CHECK-NOT:      h.{2}
// CHECK:          graph.func @microbatch(%tokens: {{[^%]*}}) -> (tensor<8x6xf32> {graph.gradient_of = @table, {{.*}}}, !graph.stack<2 x tensor<6x6xf32>> {graph.gradient_of = @"h.{}.w"
// CHECK:            %[[X:.*]] = graph.embedding {{.*}} {graph.chunk = 0 : i64, graph.phase = "forward"}
// CHECK:            %[[F:.*]]:3 = graph.repeat 2 @block_forward(%[[X]], %{{.*}}) {graph.chunk = 0 : i64, graph.phase = "forward"}
// CHECK:            graph.send %[[F]]#0 chunk 0 to 1 "activation.0" {graph.chunk = 0 : i64, graph.phase = "forward"} : tensor<2x6xf32>
// CHECK:            %[[DY:.*]] = graph.receive chunk 0 from 1 "gradient.0" {graph.chunk = 0 : i64, graph.phase = "backward"} : tensor<2x6xf32>
// CHECK:            graph.repeat 2 reversed @block_backward(%[[DY]], {{.*}}) {graph.chunk = 0 : i64, graph.phase = "backward"}
// CHECK:            %[[DTABLE:.*]] = graph.embedding_grad
// CHECK-NOT:        graph.add
// CHECK:            graph.return %[[DTABLE]],
// The sum of the table's gradient is one over data first, then over the stages; its squares count here only.
// CHECK:          graph.func @update(%[[G:.*]]: tensor<8x6xf32> {graph.gradient_of = @table, {{.*}}) -> (tensor<f32> {graph.output = "grad_norm", {{.*}}}, tensor<f32> {graph.output = "learning_rate"
// CHECK:            %[[OF_DATA:.*]] = shard.all_reduce %[[G]] on @mesh grid_axes = [1]
// CHECK:            %[[WHOLE:.*]] = graph.stage_reduce{{ +}}sum %[[OF_DATA]] stages [0, 1] <gradient> : tensor<8x6xf32>
// CHECK:            %[[S:.*]] = graph.sum_squares %[[WHOLE]]
// CHECK:            %[[SQUARES:.*]] = graph.repeat 2 @squares(%[[S]], {{.*}})
// CHECK:            %[[ALL:.*]] = graph.stage_reduce{{ +}}sum %[[SQUARES]] stages [0, 1] <control> : tensor<f32>
// CHECK:            %[[NORM:.*]] = graph.sqrt %[[ALL]]
// CHECK:            %[[CLIP:.*]] = graph.clip_scale %[[NORM]]
// CHECK:            graph.adamw {{.*}}, %[[WHOLE]], {{.*}} grad_scale %[[CLIP]]
// CHECK:            graph.set @"h.{}.w"
// CHECK:            graph.return %[[NORM]], %{{.*}} : tensor<f32>, tensor<f32>
// CHECK-COUNT-5:  graph.func private
// CHECK:        module @stage_1 attributes
// CHECK:          graph.parameter @table
// CHECK-NEXT:     graph.parameter @"h.{2}.w"
// CHECK-NOT:      h.{}
// CHECK:          graph.func @microbatch(%targets: {{[^%]*}}) -> (tensor<f32> {graph.accumulated = "loss"
// CHECK:            %[[H:.*]] = graph.receive chunk 1 from 0 "activation.0" {graph.chunk = 1 : i64, graph.phase = "forward"} : tensor<2x6xf32>
// CHECK:            graph.repeat 3 @block_forward(%[[H]], %{{.*}}) instance 2
// CHECK:            shard.all_slice {{.*}} {graph.chunk = 1 : i64, graph.phase = "backward"}
// CHECK:            %[[DHEAD:.*]] = graph.linear_weight_grad {{.*}} {graph.chunk = 1 : i64, graph.phase = "backward", graph.unfinished = array<i64: 2>}
// CHECK:            %[[B:.*]]:2 = graph.repeat 3 reversed @block_backward
// CHECK:            graph.send %[[B]]#0 chunk 1 to 0 "gradient.0" {graph.chunk = 1 : i64, graph.phase = "backward"} : tensor<2x6xf32>
// CHECK:            graph.return %{{.*}}, %[[DHEAD]], %[[B]]#1
// CHECK:          graph.func @update({{.*}}) -> (tensor<f32> {graph.output = "loss"
// CHECK:            %[[WHOLE:.*]] = graph.stage_reduce{{ +}}sum %{{.*}} stages [0, 1] <gradient> : tensor<8x6xf32>
// CHECK-NOT:        graph.sum_squares
// CHECK:            %[[SQUARES:.*]] = graph.repeat 3 @squares.1(
// CHECK:            graph.stage_reduce{{ +}}sum %[[SQUARES]] stages [0, 1] <control> : tensor<f32>
// CHECK:            graph.set @table

// TURNS:       module @stage_0
// TURNS:         graph.func @microbatch
// TURNS:           graph.send %{{.*}} chunk 0 to 1 "activation.0"
// TURNS:           graph.receive chunk 2 from 1 "activation.0"
// TURNS:           graph.send %{{.*}} chunk 2 to 3 "activation.0"
// TURNS:           graph.receive chunk 2 from 3 "gradient.0"
// TURNS:           graph.send %{{.*}} chunk 2 to 1 "gradient.0"
// TURNS:           graph.receive chunk 0 from 1 "gradient.0"
// TURNS:       module @stage_1
// TURNS:         graph.func @microbatch
// TURNS:           graph.receive chunk 1 from 0 "activation.0"
// TURNS:           graph.send %{{.*}} chunk 1 to 2 "activation.0"
// TURNS:           graph.receive chunk 3 from 2 "activation.0"
// TURNS:           graph.send %{{.*}} chunk 3 to 2 "gradient.0"
// TURNS:           graph.receive chunk 1 from 2 "gradient.0"
// TURNS:           graph.send %{{.*}} chunk 1 to 0 "gradient.0"

module attributes {graph.stage_of_chunk = array<i64: 0, 1>} {
  graph.parameter @table : tensor<8x6xf32> init normal(0.0, 0.02)
  graph.parameter @"h.{}.w" : tensor<6x6xf32> init normal(0.0, 0.02) repeats 2 {graph.chunk = 0 : i64}
  graph.parameter @"h.{2}.w" : tensor<6x6xf32> init normal(0.0, 0.02) repeats 3 {graph.chunk = 1 : i64}
  graph.func private @block(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> tensor<4x6xf32> {
    %0 = graph.linear %x, %w : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
    %1 = graph.exp %0 : tensor<4x6xf32>
    graph.return %1 : tensor<4x6xf32>
  }
  graph.func @loss(%tokens: tensor<4xi32>, %targets: tensor<4xi32>) -> tensor<f32> {
    %table = graph.get @table : tensor<8x6xf32>
    %x = graph.embedding %table, %tokens {graph.chunk = 0 : i64} : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
    %w0 = graph.get @"h.{}.w" : !graph.stack<2 x tensor<6x6xf32>>
    %y = graph.repeat 2 @block(%x, %w0) {graph.chunk = 0 : i64} : (tensor<4x6xf32>, !graph.stack<2 x tensor<6x6xf32>>) -> tensor<4x6xf32>
    %w1 = graph.get @"h.{2}.w" : !graph.stack<3 x tensor<6x6xf32>>
    %z = graph.repeat 3 @block(%y, %w1) instance 2 {graph.chunk = 1 : i64} : (tensor<4x6xf32>, !graph.stack<3 x tensor<6x6xf32>>) -> tensor<4x6xf32>
    %logits = graph.linear %z, %table transposed {graph.chunk = 1 : i64} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets {graph.chunk = 1 : i64} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    %mean = graph.reduce sum %rows dims [0] scale 0.25 {graph.chunk = 1 : i64} : tensor<4xf32> -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
