// Optimizer state in bf16 and in codes of 8 bits: what is stored, and how it is rounded.
// RUN: dtc-opt %s --dtc-add-optimizer="state=bf16" | FileCheck %s --check-prefix=BF16
// RUN: dtc-opt %s --dtc-add-optimizer="optimizer=sgd state=bf16" | FileCheck %s --check-prefix=SGD
// RUN: dtc-opt %s --dtc-add-optimizer="state=int8" | FileCheck %s --check-prefix=INT8
// RUN: not dtc-opt %s --dtc-add-optimizer="optimizer=sgd state=int8" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: the state of sgd can't be stored in 'int8'; use f32 or bf16
module {
  graph.parameter @"h.{4:2}.w" : tensor<32x256xf32> init ones repeats 2
  graph.parameter @b : tensor<256xf32> init ones
  graph.parameter @s : tensor<f32> init ones
  graph.func @microbatch(%g: !graph.stack<2 x tensor<32x256xf32>>, %h: tensor<256xf32>, %i: tensor<f32>) -> (tensor<f32> {graph.accumulated = "loss"}, !graph.stack<2 x tensor<32x256xf32>> {graph.gradient_of = @"h.{4:2}.w"}, tensor<256xf32> {graph.gradient_of = @b}, tensor<f32> {graph.gradient_of = @s}) {
    %0 = graph.constant 1.0 : tensor<f32>
    graph.return %0, %g, %h, %i : tensor<f32>, !graph.stack<2 x tensor<32x256xf32>>, tensor<256xf32>, tensor<f32>
  }
}
// BF16-DAG:   graph.state @"h.{4:2}.w.exp_avg" of @"h.{4:2}.w" : tensor<32x256xbf16>
// BF16-DAG:   graph.state @b.exp_avg_sq of @b : tensor<256xbf16>
// BF16-DAG:   graph.state @s.exp_avg of @s : tensor<f32>
// BF16-LABEL: graph.func @update
// BF16:       %[[SEED:.*]] = graph.input seed
// The family "h.{0:2}.w" has stream 32769, behind "b"; its part from member 4 on has executions 2 and 3.
// BF16:       graph.repeat 2 @update_layer(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SEED]], {{.*}} instance 2
// BF16:       graph.round_randomly %{{.*}}, %{{.*}} id 32768 key(%[[SEED]], %{{.*}}) : tensor<256xf32>, tensor<256xf32> to tensor<256xbf16>, tensor<256xbf16>
// BF16-LABEL: graph.func private @update_layer
// BF16:       %[[M:.*]] = graph.cast %{{.*}} : tensor<32x256xbf16> to tensor<32x256xf32>
// BF16:       %[[NEW:.*]], %[[M1:.*]], %[[V1:.*]] = graph.adamw %{{.*}}, %{{.*}}, %[[M]], %{{.*}} lr
// BF16:       %[[ROUNDED:.*]]:2 = graph.round_randomly %[[M1]], %[[V1]] id 32769 key(%{{.*}}, %{{.*}})
// BF16:       graph.return %[[NEW]], %[[ROUNDED]]#0, %[[ROUNDED]]#1

// SGD-DAG:    graph.state @b.momentum of @b : tensor<256xbf16>
// SGD:        graph.round_randomly %{{.*}} id 32768 key(%{{.*}}, %{{.*}}) : tensor<256xf32> to tensor<256xbf16>

// INT8-DAG:   graph.state @"h.{4:2}.w.exp_avg" of @"h.{4:2}.w" : tensor<32x256xi8>
// INT8-DAG:   graph.state @"h.{4:2}.w.exp_avg_sq_largest" of @"h.{4:2}.w" : tensor<32x2xf32> {graph.block = 128 : i64}
// INT8-DAG:   graph.state @b.exp_avg of @b : tensor<256xf32>
// INT8-LABEL: graph.func private @update_layer
// INT8:       %[[M:.*]], %[[V:.*]] = graph.decode_moments
// INT8:       %[[NEW:.*]], %[[M1:.*]], %[[V1:.*]] = graph.adamw %{{.*}}, %{{.*}}, %[[M]], %[[V]] lr %{{.*}} : tensor<32x2x128xf32>
// INT8:       %[[ABS:.*]] = graph.point abs %[[M1]]
// INT8:       %[[LM:.*]] = graph.reduce max %[[ABS]] dims [2]
// INT8:       %[[LV:.*]] = graph.reduce max %[[V1]] dims [2]
// INT8:       graph.encode_moments %[[M1]], %[[V1]] largest
// INT8:       graph.return %{{.*}}, %{{.*}}, %{{.*}}, %[[LM]], %[[LV]]
