// LAMB and LARS have a ratio for each tensor that decays, of a repeat's each layer; on the mesh, of norms of the whole tensor.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=lamb weight-decay=0.5" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,LAMB
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=lars weight-decay=0.5 trust-coefficient=0.25" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,LARS
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=lamb" --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s --check-prefix=MESH

module attributes {graph.zero = 1 : i64} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @"h.{}.w" : tensor<8x8xf32> init ones decay repeats 3
  graph.parameter @"h.{}.b" : tensor<8xf32> init zeros repeats 3
  graph.func private @block(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %z = graph.add %y, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    graph.return %z : tensor<4x8xf32>
  }
  graph.func @loss(%x: tensor<4x8xf32> {graph.input = "x"}) -> tensor<f32> {
    %ws = graph.get @"h.{}.w" : !graph.stack<3 x tensor<8x8xf32>>
    %bs = graph.get @"h.{}.b" : !graph.stack<3 x tensor<8xf32>>
    %y = graph.repeat 3 @block(%x, %ws, %bs) : (tensor<4x8xf32>, !graph.stack<3 x tensor<8x8xf32>>, !graph.stack<3 x tensor<8xf32>>) -> tensor<4x8xf32>
    %m = graph.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}
// LAMB: graph.state @"h.{}.w.exp_avg_sq"
// LARS: graph.state @"h.{}.w.momentum"

// CHECK-LABEL: graph.func private @update_layer
// LAMB:        %[[D:[^,]*]], %{{.*}} = graph.lamb_direction %[[P:[^,]*]], {{.*}}weight_decay = 5.000000e-01
// LAMB-DAG:    %[[PP:.*]] = graph.sum_squares %[[P]]
// LAMB-DAG:    %[[DD:.*]] = graph.sum_squares %[[D]]
// LAMB:        %[[RATIO:.*]] = graph.trust_ratio %[[PP]], %[[DD]] coefficient 1.000000e+00 decay 0.000000e+00
// LAMB:        graph.descend %[[P]], %[[D]] lr %{{.*}} ratio %[[RATIO]]
// A bias has no decay and no ratio.
// LAMB:        graph.lamb_direction {{.*}}weight_decay = 0.000000e+00
// LAMB-NOT:    graph.trust_ratio
// LAMB:        graph.descend
// The gradient counts as it is applied: clipped.
// LARS-DAG:    %[[G:.*]] = graph.sum_squares
// LARS-DAG:    %[[CLIP:.*]] = graph.multiply %[[C:.*]], %[[C]] :
// LARS-DAG:    %[[GG:.*]] = graph.multiply %[[G]], %[[CLIP]] :
// LARS:        %[[RATIO:.*]] = graph.trust_ratio %{{.*}}, %[[GG]] coefficient 2.500000e-01 decay 5.000000e-01
// LARS:        graph.lars {{.*}} ratio %[[RATIO]]
// LARS-NOT:    graph.trust_ratio
// LARS:        graph.lars {{.*}}weight_decay = 0.000000e+00

// State is split over dp and the weight over tp: what moves it is in four parts, the weight in two, which dp has twice.
// MESH-LABEL:  graph.func private @update_layer
// MESH:        %[[D:[^,]*]], %{{.*}} = graph.lamb_direction {{.*}} : tensor<4x4xf32>
// MESH-DAG:    %[[DD:.*]] = graph.sum_squares %[[D]] {graph.unfinished = array<i64: 3>} : tensor<4x4xf32>
// MESH-DAG:    shard.all_reduce %[[DD]] on @mesh grid_axes = [0, 1] {graph.communication = #graph.communication<control>}
// MESH-DAG:    %[[PP:.*]] = graph.sum_squares %{{.*}} {graph.unfinished = array<i64: 2>} : tensor<4x8xf32>
// MESH-DAG:    shard.all_reduce %[[PP]] on @mesh grid_axes = [1] {graph.communication = #graph.communication<control>}
// MESH:        graph.trust_ratio
