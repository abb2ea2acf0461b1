// What stages tell each other prints as it is written, and stays where it is: the other side counts on it.
// RUN: dtc-opt %s --canonicalize --cse | dtc-opt | FileCheck %s

// CHECK-LABEL: graph.func @microbatch
graph.func @microbatch(%x: tensor<4x16xf32>) {
  // CHECK: graph.send %{{.*}} chunk 0 to 1 "hidden" : tensor<4x16xf32>
  graph.send %x chunk 0 to 1 "hidden" : tensor<4x16xf32>
  // Two of one name are two, though nothing reads them.
  // CHECK-COUNT-2: graph.receive chunk 0 from 1 "hidden" : tensor<4x16xf32>
  %dx = graph.receive chunk 0 from 1 "hidden" : tensor<4x16xf32>
  %again = graph.receive chunk 0 from 1 "hidden" : tensor<4x16xf32>
  graph.return
}

// CHECK-LABEL: graph.func @update
graph.func @update(%x: tensor<64x16xf32>, %norm: tensor<f32>) -> tensor<64x16xf32> {
  // CHECK: graph.stage_reduce sum %{{.*}} stages [0, 3] <gradient> : tensor<64x16xf32>
  %sum = graph.stage_reduce sum %x stages [0, 3] <gradient> : tensor<64x16xf32>
  // CHECK: graph.stage_reduce max %{{.*}} stages [0, 1, 2, 3] <control> : tensor<f32>
  %max = graph.stage_reduce max %norm stages [0, 1, 2, 3] <control> : tensor<f32>
  graph.return %sum : tensor<64x16xf32>
}
