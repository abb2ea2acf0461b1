// RUN: dtc-opt %s --dtc-offload-update -split-input-file | FileCheck %s

// The host has the moment and the copy of the weight: the gradient goes there, the new weight comes back at once.
// CHECK-LABEL: module @updates
module @updates {
  graph.parameter @w : tensor<8xf32> init zeros
  graph.state @w.master copy of @w : tensor<8xf32> {graph.host}
  graph.state @w.momentum of @w : tensor<8xf32> {graph.host}
  // CHECK: graph.func @update(%[[G:.*]]: tensor<8xf32>
  graph.func @update(%g: tensor<8xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w.master : tensor<8xf32>
    %m = graph.get @w.momentum : tensor<8xf32>
    // CHECK-DAG: %[[W:.*]] = graph.get @w.master
    // CHECK-DAG: %[[M:.*]] = graph.get @w.momentum
    // What the device does with the gradient it does with its own.
    // CHECK: graph.multiply %[[G]], %[[G]] :
    %squares = graph.multiply %g, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // A constant is made on the host; one copy is for all readers there.
    // CHECK: %[[THERE:.*]] = graph.to_host %[[G]]
    // CHECK: %[[NEXT:.*]] = graph.add %[[M]], %[[THERE]] {graph.host}
    %half = graph.constant 0.5 : tensor<8xf32>
    %next = graph.add %m, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[HALF:.*]] = graph.constant 5.000000e-01 {graph.host}
    // CHECK: %[[STEP:.*]] = graph.multiply %[[NEXT]], %[[HALF]] {graph.host}
    %step = graph.multiply %next, %half : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[NEW:.*]] = graph.add %[[STEP]], %[[THERE]] {graph.host}
    // CHECK: %[[BACK:.*]] = graph.to_device %[[NEW]]
    %new = graph.add %step, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // CHECK: graph.set @w.momentum, %[[NEXT]]
    // CHECK: graph.set @w.master, %[[NEW]]
    // CHECK: graph.set @w, %[[BACK]]
    graph.set @w.momentum, %next : tensor<8xf32>
    graph.set @w.master, %new : tensor<8xf32>
    graph.set @w, %new : tensor<8xf32>
    graph.return
  }
}

// -----
// Ranks gather on their devices.
// CHECK-LABEL: module @gathers
module @gathers {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
  graph.parameter @w : tensor<8xf32> init zeros placement <[replicate]>
  graph.state @w.master copy of @w : tensor<8xf32> placement <[shard(0)]> {graph.host}
  graph.func @update(%g: tensor<4xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w.master : tensor<4xf32>
    // CHECK: %[[NEW:.*]] = graph.add %{{.*}} {graph.host}
    // CHECK: %[[PART:.*]] = graph.to_device %[[NEW]]
    // CHECK: %[[ALL:.*]] = shard.all_gather %[[PART]]
    // CHECK: graph.set @w.master, %[[NEW]]
    // CHECK: graph.set @w, %[[ALL]]
    %new = graph.add %w, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %all = shard.all_gather %new on @mesh grid_axes = [0] gather_axis = 0 : tensor<4xf32> -> tensor<8xf32>
    graph.set @w.master, %new : tensor<4xf32>
    graph.set @w, %all : tensor<8xf32>
    graph.return
  }
}

// -----
// Stages sum on their devices, too.
// CHECK-LABEL: module @stages
module @stages {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["pp"], graph.axis_roles = ["pipeline"]}
  graph.parameter @w : tensor<8xf32> init zeros placement <[replicate]>
  graph.state @w.master copy of @w : tensor<8xf32> placement <[replicate]> {graph.host}
  graph.func @update(%g: tensor<8xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w.master : tensor<8xf32>
    // CHECK: %[[NEW:.*]] = graph.add %{{.*}} {graph.host}
    // CHECK: %[[MINE:.*]] = graph.to_device %[[NEW]]
    // CHECK: %[[SUM:.*]] = graph.stage_reduce sum %[[MINE]] stages [0, 1] <control> : tensor<8xf32>
    // CHECK: graph.set @w, %[[SUM]]
    %new = graph.add %w, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %sum = graph.stage_reduce sum %new stages [0, 1] <control> : tensor<8xf32>
    graph.set @w, %sum : tensor<8xf32>
    graph.return
  }
}

// -----
// Without state there, nothing changes.
// CHECK-LABEL: module @stays
module @stays {
  graph.parameter @w : tensor<8xf32> init zeros
  graph.func @update(%g: tensor<8xf32> {graph.gradient_of = @w}) {
    // CHECK-NOT: graph.host
    // CHECK-NOT: graph.to_
    %w = graph.get @w : tensor<8xf32>
    %new = graph.add %w, %g : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    graph.set @w, %new : tensor<8xf32>
    graph.return
  }
}
