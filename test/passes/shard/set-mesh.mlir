// RUN: dtc-opt %s --dtc-set-mesh="dp=2 tp=4" -split-input-file | FileCheck %s

// Two kv heads can't be split over four ranks: tensor parallelism has an axis for them and one for the ranks that share one.
// CHECK: shard.grid @mesh(shape = 2x2x2) {graph.axis_names = ["dp", "tp.kv", "tp.group"], graph.axis_roles = ["data", "tensor", "tensor"]}
module {
  graph.func @loss(%q: tensor<?x4x4x8xf32>, %k: tensor<?x4x2x8xf32>) -> tensor<?x4x4x8xf32> {
    %a, %lse = graph.attention %q, %k, %k scale 1.0 : (tensor<?x4x4x8xf32>, tensor<?x4x2x8xf32>, tensor<?x4x2x8xf32>) -> (tensor<?x4x4x8xf32>, tensor<?x4x4xf32>)
    graph.return %a : tensor<?x4x4x8xf32>
  }
}

// -----

// Four kv heads can, and so can six with one query head each, which are padded to eight. Ranks share out the query heads of a
// single kv head. Three kv heads have no divisor in common with four ranks.
// CHECK: shard.grid @mesh(shape = 2x4) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
module {
  graph.func @four(%q: tensor<?x4x8x8xf32>, %k: tensor<?x4x4x8xf32>) -> tensor<?x4x8x8xf32> {
    %a, %lse = graph.attention %q, %k, %k scale 1.0 : (tensor<?x4x8x8xf32>, tensor<?x4x4x8xf32>, tensor<?x4x4x8xf32>) -> (tensor<?x4x8x8xf32>, tensor<?x8x4xf32>)
    graph.return %a : tensor<?x4x8x8xf32>
  }
  graph.func @six(%q: tensor<?x4x6x8xf32>) -> tensor<?x4x6x8xf32> {
    %a, %lse = graph.attention %q, %q, %q scale 1.0 : (tensor<?x4x6x8xf32>, tensor<?x4x6x8xf32>, tensor<?x4x6x8xf32>) -> (tensor<?x4x6x8xf32>, tensor<?x6x4xf32>)
    graph.return %a : tensor<?x4x6x8xf32>
  }
  graph.func @one(%q: tensor<?x4x4x8xf32>, %k: tensor<?x4x1x8xf32>) -> tensor<?x4x4x8xf32> {
    %a, %lse = graph.attention %q, %k, %k scale 1.0 : (tensor<?x4x4x8xf32>, tensor<?x4x1x8xf32>, tensor<?x4x1x8xf32>) -> (tensor<?x4x4x8xf32>, tensor<?x4x4xf32>)
    graph.return %a : tensor<?x4x4x8xf32>
  }
  graph.func @three(%q: tensor<?x4x6x8xf32>, %k: tensor<?x4x3x8xf32>) -> tensor<?x4x6x8xf32> {
    %a, %lse = graph.attention %q, %k, %k scale 1.0 : (tensor<?x4x6x8xf32>, tensor<?x4x3x8xf32>, tensor<?x4x3x8xf32>) -> (tensor<?x4x6x8xf32>, tensor<?x6x4xf32>)
    graph.return %a : tensor<?x4x6x8xf32>
  }
}
