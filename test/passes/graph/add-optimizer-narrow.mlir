// RUN: dtc-opt %s --dtc-add-optimizer | FileCheck %s

// What is trained of a parameter in f16 is its copy in f32, which the parameter is the rounding of; norm and gradients are divided by the
// loss scale, which follows from whether the step is applied.
module {
  graph.state @step.loss_scale : tensor<f32> init constant(65536.0)
  graph.state @step.good_steps : tensor<f32>
  graph.parameter @"h.{}.w" : tensor<3xf16> init ones repeats 2
  graph.func @microbatch(%g: !graph.stack<2 x tensor<3xf32>>) -> (tensor<f32> {graph.accumulated = "loss"}, !graph.stack<2 x tensor<3xf32>> {graph.gradient_of = @"h.{}.w"}) {
    %0 = graph.constant 1.0 : tensor<f32>
    graph.return %0, %g : tensor<f32>, !graph.stack<2 x tensor<3xf32>>
  }
}
// CHECK:       graph.state @"h.{}.w.master" copy of @"h.{}.w" : tensor<3xf32>
// CHECK:       graph.state @"h.{}.w.exp_avg" of @"h.{}.w" : tensor<3xf32>
// CHECK-LABEL: graph.func @update
// CHECK-SAME:  (%{{.*}}: tensor<f32> {{.*}}, %[[G:.*]]: !graph.stack<2 x tensor<3xf32>> {graph.gradient_of = @"h.{}.w"})
// CHECK-SAME:  {graph.output = "gradient_scale"}
// CHECK-SAME:  {graph.output = "loss_scale"}
// CHECK:       %[[SCALED:.*]] = graph.sqrt
// CHECK:       %[[SCALE:.*]] = graph.get @step.loss_scale
// CHECK:       %[[INVERSE:.*]] = graph.divide %{{.*}}, %[[SCALE]]
// CHECK:       %[[NORM:.*]] = graph.multiply %[[SCALED]], %[[INVERSE]]
// CHECK:       %[[CLIP:.*]] = graph.clip_scale %[[NORM]]
// CHECK:       %[[BOTH:.*]] = graph.multiply %[[CLIP]], %[[INVERSE]]
// CHECK:       %[[APPLY:.*]] = graph.is_finite %[[NORM]]
// CHECK:       %[[MASTER:.*]] = graph.get @"h.{}.w.master" : !graph.stack<2 x tensor<3xf32>>
// CHECK:       %[[NEW:.*]]:4 = graph.repeat 2 @update_layer(%{{.*}}, %{{.*}}, %[[BOTH]], %[[APPLY]], %[[G]], %[[MASTER]],
// CHECK:       graph.set @"h.{}.w.master", %[[NEW]]#0
// CHECK:       graph.set @"h.{}.w", %[[NEW]]#3 : !graph.stack<2 x tensor<3xf16>>
// CHECK:       %[[NEXT:.*]], %[[GOOD:.*]] = graph.next_loss_scale %{{.*}}, %{{.*}} apply %[[APPLY]] growth_interval 2000 largest 0x4170000000000000
// CHECK:       graph.set @step.loss_scale, %[[NEXT]]
// CHECK:       graph.set @step.good_steps, %[[GOOD]]
// CHECK-LABEL: graph.func private @update_layer
// CHECK:       %[[P:.*]], %{{.*}}, %{{.*}} = graph.adamw
// CHECK:       %[[ROUNDED:.*]] = graph.cast %[[P]] : tensor<3xf32> to tensor<3xf16>
// CHECK:       graph.return %[[P]], %{{.*}}, %{{.*}}, %[[ROUNDED]]
