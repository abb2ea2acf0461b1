// RUN: dtc-opt %s --dtc-add-optimizer="offload=1" | FileCheck %s

// The host keeps a copy of what is trained, narrow or not, and all state of it; the device gets the new value. What counts
// steps is the device's.
module {
  graph.parameter @w : tensor<2x3xf32> init zeros decay
  graph.parameter @b : tensor<3xbf16> init zeros
  graph.func @microbatch() -> (tensor<f32>, tensor<2x3xf32>, tensor<3xf32>) {
    %0 = graph.constant 1.0 : tensor<f32>
    %1 = graph.constant 1.0 : tensor<2x3xf32>
    %2 = graph.constant 1.0 : tensor<3xf32>
    graph.return %0, %1, %2 : tensor<f32>, tensor<2x3xf32>, tensor<3xf32>
  }
}
// CHECK:     graph.state @step.skipped : tensor<f32>{{ *$}}
// CHECK:     graph.state @w.master copy of @w : tensor<2x3xf32> {graph.host}
// CHECK:     graph.state @w.exp_avg of @w : tensor<2x3xf32> {graph.host}
// CHECK:     graph.state @w.exp_avg_sq of @w : tensor<2x3xf32> {graph.host}
// CHECK:     graph.state @b.master copy of @b : tensor<3xf32> {graph.host}
// CHECK:     graph.func @update
// CHECK-NOT: graph.get @w :
// CHECK:     %[[MASTER:.*]] = graph.get @w.master
// CHECK:     %[[NEW:.*]], %{{.*}}, %{{.*}} = graph.adamw %[[MASTER]]
// CHECK:     graph.set @w.master, %[[NEW]]
// CHECK:     graph.set @w, %[[NEW]]
// CHECK:     %[[NARROW:.*]] = graph.cast
// CHECK:     graph.set @b, %[[NARROW]]
