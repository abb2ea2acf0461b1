// Muon makes the momentum of hidden matrices orthogonal; all others are AdamW's. On the mesh a rank gathers whole matrices.
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=muon weight-decay=0.5 muon-rate=original" --canonicalize --cse | FileCheck %s
// RUN: dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=muon" --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse | FileCheck %s --check-prefix=MESH
// RUN: dtc-opt %s --dtc-set-precision=precision=bf16 --dtc-differentiate --dtc-widen-gradients --dtc-add-optimizer="optimizer=muon" --canonicalize --cse | FileCheck %s --check-prefix=NARROW
// RUN: not dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=muon muon-rate=twice" 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not dtc-opt %s --dtc-differentiate --dtc-add-optimizer="optimizer=muon state=int8" 2>&1 | FileCheck %s --check-prefix=STATE

// RATE:  error: 'twice' is not a factor of muon's learning rate; use match-rms-adamw or original
// STATE: error: the state of muon can't be stored in 'int8'; use f32 or bf16

module attributes {graph.zero = 1 : i64} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
  graph.parameter @"table" : tensor<32x8xf32> init ones decay
  graph.parameter @"h.{}.w" : tensor<8x2x4xf32> init ones decay repeats 3
  graph.parameter @"h.{}.o" : tensor<16x2x4xf32> init ones decay repeats 3
  graph.parameter @"h.{}.d" : tensor<8x16xf32> init ones repeats 3
  graph.parameter @"h.{}.b" : tensor<8xf32> init zeros repeats 3
  graph.parameter @"head" : tensor<32x8xf32> init ones decay
  graph.func private @block(%x: tensor<4x8xf32>, %w: tensor<8x2x4xf32>, %o: tensor<16x2x4xf32>, %d: tensor<8x16xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x2x4xf32>) -> tensor<4x2x4xf32>
    %u = graph.linear %y, %o contract 2 transposed : (tensor<4x2x4xf32>, tensor<16x2x4xf32>) -> tensor<4x16xf32>
    %v = graph.linear %u, %d transposed : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
    %z = graph.add %v, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    graph.return %z : tensor<4x8xf32>
  }
  graph.func @loss(%t: tensor<4xi32> {graph.input = "tokens"}) -> tensor<f32> {
    %table = graph.get @"table" : tensor<32x8xf32>
    %ws = graph.get @"h.{}.w" : !graph.stack<3 x tensor<8x2x4xf32>>
    %os = graph.get @"h.{}.o" : !graph.stack<3 x tensor<16x2x4xf32>>
    %ds = graph.get @"h.{}.d" : !graph.stack<3 x tensor<8x16xf32>>
    %bs = graph.get @"h.{}.b" : !graph.stack<3 x tensor<8xf32>>
    %head = graph.get @"head" : tensor<32x8xf32>
    %x = graph.embedding %table, %t : (tensor<32x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    %y = graph.repeat 3 @block(%x, %ws, %os, %ds, %bs) : (tensor<4x8xf32>, !graph.stack<3 x tensor<8x2x4xf32>>, !graph.stack<3 x tensor<16x2x4xf32>>, !graph.stack<3 x tensor<8x16xf32>>, !graph.stack<3 x tensor<8xf32>>) -> tensor<4x8xf32>
    %logits = graph.linear %y, %head transposed : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
    %scaled = graph.scale %logits by 0.5 : tensor<4x32xf32>
    %m = graph.reduce sum %scaled dims [0, 1] : tensor<4x32xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}
// CHECK-DAG:   graph.state @table.exp_avg_sq
// CHECK-DAG:   graph.state @"h.{}.w.momentum"
// CHECK-DAG:   graph.state @"h.{}.o.momentum"
// CHECK-DAG:   graph.state @"h.{}.d.momentum"
// CHECK-DAG:   graph.state @"h.{}.b.exp_avg_sq"
// CHECK-DAG:   graph.state @head.exp_avg_sq
// CHECK-NOT:   graph.state @"h.{}.w.exp_avg

// CHECK-LABEL: graph.func private @update_layer
// Rows are inputs, 8, and columns are 2 x 4 outputs: square, so that the factor is 1 and the decay that of the options.
// CHECK:       %[[WHOLE:.*]] = graph.whole_matrix %{{.*}} : tensor<8x2x4xf32>
// CHECK:       graph.reshape %[[WHOLE]] : tensor<8x2x4xf32> -> tensor<8x8xf32>
// CHECK:       graph.maximum
// CHECK-COUNT-15: graph.matmul
// CHECK:       graph.scale %{{.*}} by 5.000000e-01 : tensor<8x2x4xf32>
// CHECK:       graph.descend
// CHECK:       graph.where
// Rows are 16 outputs, columns 8 inputs: the shorter side is that of the columns, and the factor is the root of 2.
// CHECK:       graph.whole_matrix %{{.*}} : tensor<16x2x4xf32>
// CHECK:       %[[X:.*]] = graph.divide
// CHECK:       graph.matmul %[[X]] transposed, %[[X]] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
// CHECK:       graph.scale %{{.*}} by 0.35355339059327373 : tensor<16x2x4xf32>
// Without decay nothing is added. The factor of fewer outputs than inputs is 1.
// CHECK:       graph.whole_matrix %{{.*}} : tensor<8x16xf32>
// CHECK:       graph.descend
// CHECK:       graph.adamw {{.*}} : tensor<8xf32>

// Products and the gather are in bf16 where the model's products are.
// NARROW:      graph.whole_matrix %{{.*}} : tensor<8x2x4xbf16>
// NARROW:      graph.matmul %{{.*}} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
// NARROW:      graph.matmul %{{.*}} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>

// MESH-LABEL:  graph.func private @update_layer
// MESH:        shard.all_gather %{{.*}} on @mesh
// MESH-NOT:    graph.whole_matrix
// MESH:        graph.matmul %{{.*}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
