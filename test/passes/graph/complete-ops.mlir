// RUN: dtc-opt %s --dtc-complete-ops -split-input-file | FileCheck %s

// A bias is added.
// CHECK-LABEL: graph.func @bias
// CHECK-SAME:  (%[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4xf32>)
graph.func @bias(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: %[[Y:.*]] = graph.linear %[[X]], %[[W]] transposed : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  // CHECK: %[[Z:.*]] = graph.add %[[Y]], %[[B]]
  %y = graph.linear %x, %w, %b transposed : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: graph.return %[[Z]]
  graph.return %y : tensor<?x4xf32>
}

// -----

// A bias of a convolution is one number for all pixels of a filter.
// CHECK-LABEL: graph.func @bias_of_filters
// CHECK-SAME:  (%[[X:.*]]: tensor<?x3x5x5xf32>, %[[W:.*]]: tensor<4x3x2x2xf32>, %[[B:.*]]: tensor<4xf32>)
graph.func @bias_of_filters(%x: tensor<?x3x5x5xf32>, %w: tensor<4x3x2x2xf32>, %b: tensor<4xf32>) -> tensor<?x4x3x3xf32> {
  // CHECK: %[[Y:.*]] = graph.conv2d %[[X]], %[[W]] stride [2, 2] padding [1, 1] : (tensor<?x3x5x5xf32>, tensor<4x3x2x2xf32>) -> tensor<?x4x3x3xf32>
  // CHECK: %[[R:.*]] = graph.reshape %[[B]] : tensor<4xf32> -> tensor<4x1x1xf32>
  // CHECK: %[[Z:.*]] = graph.add %[[Y]], %[[R]]
  %y = graph.conv2d %x, %w, %b stride [2, 2] padding [1, 1] : (tensor<?x3x5x5xf32>, tensor<4x3x2x2xf32>, tensor<4xf32>) -> tensor<?x4x3x3xf32>
  // CHECK: graph.return %[[Z]]
  graph.return %y : tensor<?x4x3x3xf32>
}

// -----

// Norms and cross entropy get what the backward pass needs.
// CHECK-LABEL: graph.func @statistics
graph.func @statistics(%x: tensor<?x8xbf16>, %w: tensor<8xbf16>, %t: tensor<?xi32>) -> tensor<?xf32> {
  // CHECK: %[[Y:.*]], %{{.*}}:2 = graph.layer_norm {{.*}} -> (tensor<?x8xbf16>, tensor<?xf32>, tensor<?xf32>)
  %y = graph.layer_norm %x, %w, %w : (tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> tensor<?x8xbf16>
  // CHECK: %[[Z:.*]], %{{.*}} = graph.rms_norm %[[Y]], {{.*}} epsilon 9.9999999999999995E-7 : {{.*}} -> (tensor<?x8xbf16>, tensor<?xf32>)
  %z = graph.rms_norm %y, %w epsilon 1.0e-6 : (tensor<?x8xbf16>, tensor<8xbf16>) -> tensor<?x8xbf16>
  // CHECK: %[[L:.*]], %{{.*}} = graph.cross_entropy %[[Z]], {{.*}} ignoring -100 : {{.*}} -> (tensor<?xf32>, tensor<?xf32>)
  %l = graph.cross_entropy %z, %t ignoring -100 : (tensor<?x8xbf16>, tensor<?xi32>) -> tensor<?xf32>
  // CHECK: graph.return %[[L]]
  graph.return %l : tensor<?xf32>
}

// -----

// Attention without dropout draws nothing; its scale is 1 / sqrt(head dim), and one that is written stays.
// Sinks stay operands.
// CHECK-LABEL: graph.func @sinks
graph.func @sinks(%q: tensor<?x8x4x16xf32>, %s: tensor<4xf32>) -> tensor<?x8x4x16xf32> {
  // CHECK: %[[OUT:.*]], %{{.*}} = graph.attention %{{.*}}, %{{.*}}, %{{.*}} sinks %{{.*}} causal scale 2.500000e-01 :
  // CHECK-NEXT: graph.return %[[OUT]]
  %y = graph.attention %q, %q, %q sinks %s causal : (tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<?x8x4x16xf32>, tensor<4xf32>) -> tensor<?x8x4x16xf32>
  graph.return %y : tensor<?x8x4x16xf32>
}

// CHECK-LABEL: graph.func @attention
graph.func @attention(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32> {
  // CHECK-NOT: graph.input
  // CHECK: graph.attention {{.*}} causal scale 2.500000e-01 : {{.*}} -> (tensor<?x8x4x16xf32>, tensor<?x4x8xf32>)
  %y = graph.attention %q, %k, %k causal : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32>
  // CHECK: graph.attention {{.*}} scale 1.000000e+00
  %z = graph.attention %y, %k, %k scale 1.0 : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32>
  graph.return %z : tensor<?x8x4x16xf32>
}

// -----

// Streams count in the order of the module, over all of its functions, and leave out what is taken.
// CHECK-LABEL: graph.func private @block
graph.func private @block(%x: tensor<?x8x2x4xf32>) -> tensor<?x8x2x4xf32> {
  // CHECK: %[[SEED:.*]] = graph.input seed
  // CHECK: %[[STEP:.*]] = graph.input step
  // CHECK: graph.attention {{.*}} dropout 1.000000e-01 id 1 key(%[[SEED]], %[[STEP]])
  %y = graph.attention %x, %x, %x dropout 0.1 : (tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>) -> tensor<?x8x2x4xf32>
  // CHECK: graph.dropout {{.*}} id 3 key(
  %z = graph.dropout %y p 0.1 : tensor<?x8x2x4xf32>
  graph.return %z : tensor<?x8x2x4xf32>
}
// CHECK-LABEL: graph.func @other
graph.func @other(%x: tensor<?x8xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<?x8xf32> {
  // CHECK: graph.dropout {{.*}} id 2 key(%arg1, %arg2)
  %y = graph.dropout %x p 0.1 id 2 key(%seed, %step) : tensor<?x8xf32>
  // CHECK: graph.dropout {{.*}} id 4 key(
  %z = graph.dropout %y p 0.1 : tensor<?x8xf32>
  graph.return %z : tensor<?x8xf32>
}

// -----

// 100^(-i/2). Long waves are slowed by the factor, here all but the first: positions 8 / low 1 is shorter than the second's
// 2 pi / 0.1, and the first's 2 pi is above 8 / high 4.
// CHECK-LABEL: graph.func @frequencies
graph.func @frequencies() {
  // CHECK: graph.rotary_table [1.000000e+00, 1.000000e-01] : tensor<8x2xf32>
  %a, %b = graph.rotary_table base 100.0 : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: graph.rotary_table [5.000000e-01, 5.000000e-02] : tensor<8x2xf32>
  %c, %d = graph.rotary_table base 100.0 factor 2.0 : tensor<8x2xf32>, tensor<8x2xf32>
  // CHECK: graph.rotary_table [0.{{[5-9].*}}, 5.000000e-02] : tensor<8x2xf32>
  %e, %f = graph.rotary_table base 100.0 factor 2.0 low 1.0 high 4.0 positions 8 : tensor<8x2xf32>, tensor<8x2xf32>
  graph.return
}
