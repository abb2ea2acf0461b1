// RUN: dtc-opt %s --dtc-place -split-input-file | FileCheck %s
// RUN: dtc-opt %s --dtc-place --dtc-partition -split-input-file | FileCheck %s --check-prefix=PARTITION

// Under data parallelism alone no row is split: norm and cross entropy stay whole.
module {
  shard.grid @mesh(shape = 2x1) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @scale : tensor<512xf32> init ones
  graph.parameter @head : tensor<512x32000xf32> init zeros
  // CHECK-LABEL: graph.func @microbatch
  // PARTITION-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x256x512xf32> {graph.input = "x"}, %targets: tensor<4x256xi32> {graph.input = "targets"})
      -> (tensor<4x256xf32> {graph.accumulated = "loss"}) {
    %scale = graph.get @scale : tensor<512xf32>
    %head = graph.get @head : tensor<512x32000xf32>
    // CHECK: graph.rms_norm {{.*}} {graph.splits = array<i64: 0, -1>}
    // PARTITION: graph.rms_norm
    %y, %rstd = graph.rms_norm %x, %scale : (tensor<4x256x512xf32>, tensor<512xf32>) -> (tensor<4x256x512xf32>, tensor<4x256xf32>)
    %logits = graph.linear %y, %head : (tensor<4x256x512xf32>, tensor<512x32000xf32>) -> tensor<4x256x32000xf32>
    // CHECK: graph.cross_entropy {{.*}} {graph.splits = array<i64: 0, -1>}
    // PARTITION: graph.cross_entropy
    // PARTITION-NOT: shard.all_reduce
    %loss, %lse = graph.cross_entropy %logits, %targets : (tensor<4x256x32000xf32>, tensor<4x256xi32>) -> (tensor<4x256xf32>, tensor<4x256xf32>)
    graph.return %loss : tensor<4x256xf32>
  }
  graph.func @update(%loss: tensor<4x256xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Words of a large vocabulary are split over tensor parallelism with the weight that makes their logits: only the cross
// entropy is taken apart, and finishes a maximum and two sums.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @scale : tensor<512xf32> init ones
  // CHECK: graph.parameter @head : {{.*}} placement <[replicate, shard(1)]>
  graph.parameter @head : tensor<512x32000xf32> init zeros
  // CHECK-LABEL: graph.func @microbatch
  // PARTITION-LABEL: graph.func @microbatch
  graph.func @microbatch(%x: tensor<4x256x512xf32> {graph.input = "x"}, %targets: tensor<4x256xi32> {graph.input = "targets"})
      -> (tensor<4x256xf32> {graph.accumulated = "loss"}) {
    %scale = graph.get @scale : tensor<512xf32>
    %head = graph.get @head : tensor<512x32000xf32>
    // CHECK: graph.rms_norm {{.*}} {graph.splits = array<i64: -1, -1>}
    // PARTITION: graph.rms_norm
    %y, %rstd = graph.rms_norm %x, %scale : (tensor<4x256x512xf32>, tensor<512xf32>) -> (tensor<4x256x512xf32>, tensor<4x256xf32>)
    %logits = graph.linear %y, %head : (tensor<4x256x512xf32>, tensor<512x32000xf32>) -> tensor<4x256x32000xf32>
    // CHECK: graph.cross_entropy {{.*}} {graph.splits = array<i64: -1, 2>}
    // PARTITION-NOT: graph.cross_entropy
    // PARTITION-COUNT-3: shard.all_reduce {{.*}} -> tensor<4x256xf32>
    %loss, %lse = graph.cross_entropy %logits, %targets : (tensor<4x256x32000xf32>, tensor<4x256xi32>) -> (tensor<4x256xf32>, tensor<4x256xf32>)
    graph.return %loss : tensor<4x256xf32>
  }
  graph.func @update(%loss: tensor<4x256xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----

// Where the logits are whole their words are not split, and the cross entropy stays whole.
module {
  shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @head : tensor<64x8xf32> init zeros placement <[replicate, replicate]>
  // CHECK-LABEL: graph.func @microbatch
  // PARTITION-LABEL: graph.func @microbatch
  graph.func @microbatch(%y: tensor<4x64xf32> {graph.input = "x"}, %targets: tensor<4xi32> {graph.input = "targets"})
      -> (tensor<4xf32> {graph.accumulated = "loss"}) {
    %head = graph.get @head : tensor<64x8xf32>
    %logits = graph.linear %y, %head {graph.splits = array<i64: -1, -1>} : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
    // CHECK: graph.cross_entropy {{.*}} {graph.splits = array<i64: -1, -1>}
    // PARTITION: graph.cross_entropy
    // PARTITION-NOT: shard.all_reduce
    %loss, %lse = graph.cross_entropy %logits, %targets : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
    graph.return %loss : tensor<4xf32>
  }
  graph.func @update(%loss: tensor<4xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}
