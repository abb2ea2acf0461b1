// Folds and canonicalization patterns of the graph ops.
// RUN: dtc-opt %s -canonicalize | FileCheck %s

// The gradient of q, k and v sliced out of one linear is one stack, in whatever order they are added.
// CHECK-LABEL: graph.func @stack
// CHECK-SAME:    (%[[Q:.*]]: tensor<?x8x4xf32>, %[[K:.*]]: tensor<?x8x4xf32>, %[[V:.*]]: tensor<?x8x4xf32>)
graph.func @stack(%q: tensor<?x8x4xf32>, %k: tensor<?x8x4xf32>, %v: tensor<?x8x4xf32>) -> tensor<?x8x3x4xf32> {
  %q1 = graph.reshape %q : tensor<?x8x4xf32> -> tensor<?x8x1x4xf32>
  %k1 = graph.reshape %k : tensor<?x8x4xf32> -> tensor<?x8x1x4xf32>
  %v1 = graph.reshape %v : tensor<?x8x4xf32> -> tensor<?x8x1x4xf32>
  %qp = graph.pad %q1 dim 2 low 0 high 2 : tensor<?x8x1x4xf32> -> tensor<?x8x3x4xf32>
  %kp = graph.pad %k1 dim 2 low 1 high 1 : tensor<?x8x1x4xf32> -> tensor<?x8x3x4xf32>
  %vp = graph.pad %v1 dim 2 low 2 high 0 : tensor<?x8x1x4xf32> -> tensor<?x8x3x4xf32>
  %0 = graph.add %vp, %qp : (tensor<?x8x3x4xf32>, tensor<?x8x3x4xf32>) -> tensor<?x8x3x4xf32>
  %1 = graph.add %0, %kp : (tensor<?x8x3x4xf32>, tensor<?x8x3x4xf32>) -> tensor<?x8x3x4xf32>
  // CHECK-NEXT: %[[S:.*]] = graph.concat %[[Q]], %[[K]], %[[V]] dim 2 stack
  // CHECK-NEXT: graph.return %[[S]]
  graph.return %1 : tensor<?x8x3x4xf32>
}

// Parts of different sizes become a plain concat.
// CHECK-LABEL: graph.func @concat
// CHECK-SAME:    (%[[A:.*]]: tensor<?x3xf32>, %[[B:.*]]: tensor<?x5xf32>)
graph.func @concat(%a: tensor<?x3xf32>, %b: tensor<?x5xf32>) -> tensor<?x8xf32> {
  %ap = graph.pad %a dim 1 low 0 high 5 : tensor<?x3xf32> -> tensor<?x8xf32>
  %bp = graph.pad %b dim 1 low 3 high 0 : tensor<?x5xf32> -> tensor<?x8xf32>
  %0 = graph.add %bp, %ap : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: graph.concat %[[A]], %[[B]] dim 1 :
  graph.return %0 : tensor<?x8xf32>
}

// Parts that overlap, or leave a gap, stay sums.
// CHECK-LABEL: graph.func @overlap
graph.func @overlap(%a: tensor<5xf32>, %b: tensor<3xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %ap = graph.pad %a dim 0 low 0 high 3 : tensor<5xf32> -> tensor<8xf32>
  %aq = graph.pad %a dim 0 low 3 high 0 : tensor<5xf32> -> tensor<8xf32>
  %bp = graph.pad %b dim 0 low 0 high 5 : tensor<3xf32> -> tensor<8xf32>
  %bq = graph.pad %b dim 0 low 4 high 1 : tensor<3xf32> -> tensor<8xf32>
  // CHECK-NOT: graph.concat
  // CHECK-COUNT-2: graph.add
  // CHECK-NOT: graph.concat
  %0 = graph.add %ap, %aq : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.add %bp, %bq : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: graph.func @slice_of_concat
// CHECK-SAME:    (%[[A:.*]]: tensor<?x3xf32>, %[[B:.*]]: tensor<?x3xf32>)
graph.func @slice_of_concat(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x2xf32>) {
  %s = graph.concat %a, %b dim 1 stack : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x2x3xf32>
  %c = graph.concat %a, %b dim 1 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x6xf32>
  %0 = graph.slice %s dim 1 start 1 size 1 squeeze : tensor<?x2x3xf32> -> tensor<?x3xf32>
  %1 = graph.slice %c dim 1 start 0 size 3 : tensor<?x6xf32> -> tensor<?x3xf32>
  // A slice across two inputs stays.
  // CHECK: %[[C:.*]] = graph.concat
  // CHECK-NEXT: %[[R:.*]] = graph.slice %[[C]] dim 1 start 2 size 2
  %2 = graph.slice %c dim 1 start 2 size 2 : tensor<?x6xf32> -> tensor<?x2xf32>
  // CHECK-NEXT: graph.return %[[B]], %[[A]], %[[R]]
  graph.return %0, %1, %2 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x2xf32>
}

// CHECK-LABEL: graph.func @single_concat
// CHECK-SAME:    (%[[A:.*]]: tensor<?x3xf32>)
graph.func @single_concat(%a: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x1x3xf32>) {
  %0 = graph.concat %a dim 1 : (tensor<?x3xf32>) -> tensor<?x3xf32>
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %[[A]]
  %1 = graph.concat %a dim 1 stack : (tensor<?x3xf32>) -> tensor<?x1x3xf32>
  // CHECK-NEXT: graph.return %[[A]], %[[R]]
  graph.return %0, %1 : tensor<?x3xf32>, tensor<?x1x3xf32>
}

// Ops that change nothing go.
// CHECK-LABEL: graph.func @nothing
// CHECK-SAME:    (%[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: tensor<i64>, %[[T:.*]]: tensor<f32>)
graph.func @nothing(%x: tensor<?x8xf32>, %s: tensor<i64>, %t: tensor<f32>) -> tensor<?x8xf32> {
  %0 = graph.scale %x by 1.0 : tensor<?x8xf32>
  %1 = graph.cast %0 : tensor<?x8xf32> to tensor<?x8xf32>
  %2 = graph.reshape %1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %3 = graph.transpose %2 by [0, 1] : tensor<?x8xf32> -> tensor<?x8xf32>
  %4 = graph.slice %3 dim 1 start 0 size 8 : tensor<?x8xf32> -> tensor<?x8xf32>
  %5 = graph.pad %4 dim 1 low 0 high 0 : tensor<?x8xf32> -> tensor<?x8xf32>
  %6 = graph.dropout %5 p 0.0 id 0 key(%s, %t) : tensor<?x8xf32>
  %7 = graph.broadcast %6 dims [] : tensor<?x8xf32> -> tensor<?x8xf32>
  %8 = graph.negate %7 : tensor<?x8xf32>
  %9 = graph.negate %8 : tensor<?x8xf32>
  %zero = graph.constant 0.0 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %10 = graph.add %zero, %9 : (tensor<f32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %11 = graph.multiply %10, %one : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  // CHECK-NEXT: graph.return %[[X]]
  graph.return %11 : tensor<?x8xf32>
}

// A broadcast constant is not dropped where it gives the result its shape.
// CHECK-LABEL: graph.func @shape_from_constant
graph.func @shape_from_constant(%x: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = graph.constant 0.0 : tensor<4x8xf32>
  // CHECK: graph.add
  %0 = graph.add %x, %zero : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.return %0 : tensor<4x8xf32>
}

// Two that follow each other become one.
// CHECK-LABEL: graph.func @pairs
// CHECK-SAME:    (%[[X:.*]]: tensor<?x4x6xf32>, %[[H:.*]]: tensor<?xbf16>)
graph.func @pairs(%x: tensor<?x4x6xf32>, %h: tensor<?xbf16>) -> (tensor<?x4x6xf32>, tensor<?x8x3xf32>, tensor<6x?x4xf32>, tensor<?xbf16>) {
  // CHECK-DAG: %[[A:.*]] = graph.scale %[[X]] by 6.000000e+00
  %0 = graph.scale %x by 2.0 : tensor<?x4x6xf32>
  %1 = graph.scale %0 by 3.0 : tensor<?x4x6xf32>
  // CHECK-DAG: %[[B:.*]] = graph.reshape %[[X]] : tensor<?x4x6xf32> -> tensor<?x8x3xf32>
  %2 = graph.reshape %x : tensor<?x4x6xf32> -> tensor<?x24xf32>
  %3 = graph.reshape %2 : tensor<?x24xf32> -> tensor<?x8x3xf32>
  // CHECK-DAG: %[[C:.*]] = graph.transpose %[[X]] by [2, 0, 1]
  %4 = graph.transpose %x by [0, 2, 1] : tensor<?x4x6xf32> -> tensor<?x6x4xf32>
  %5 = graph.transpose %4 by [1, 0, 2] : tensor<?x6x4xf32> -> tensor<6x?x4xf32>
  %6 = graph.cast %h : tensor<?xbf16> to tensor<?xf32>
  %7 = graph.cast %6 : tensor<?xf32> to tensor<?xbf16>
  // CHECK: graph.return %[[A]], %[[B]], %[[C]], %[[H]]
  graph.return %1, %3, %5, %7 : tensor<?x4x6xf32>, tensor<?x8x3xf32>, tensor<6x?x4xf32>, tensor<?xbf16>
}

// Narrowing and widening back loses bits, so it stays.
// CHECK-LABEL: graph.func @rounding
graph.func @rounding(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-COUNT-2: graph.cast
  %0 = graph.cast %x : tensor<?xf32> to tensor<?xbf16>
  %1 = graph.cast %0 : tensor<?xbf16> to tensor<?xf32>
  graph.return %1 : tensor<?xf32>
}

// Constants are worked out: 2 * (3 - 1) / 4 + min(5, 6) - max(5, 6), then repeated.
// CHECK-LABEL: graph.func @constants
graph.func @constants(%x: tensor<?x8xf32>) -> (tensor<4x8xf32>, tensor<?x8xf32>) {
  %1 = graph.constant 1.0 : tensor<f32>
  %3 = graph.constant 3.0 : tensor<f32>
  %4 = graph.constant 4.0 : tensor<f32>
  %5 = graph.constant 5.0 : tensor<f32>
  %6 = graph.constant 6.0 : tensor<f32>
  %a = graph.subtract %3, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %b = graph.scale %a by 2.0 : tensor<f32>
  %c = graph.divide %b, %4 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %d = graph.minimum %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %e = graph.maximum %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %f = graph.negate %e : tensor<f32>
  %g = graph.add %d, %f : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %h = graph.add %c, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: %[[Z:.*]] = graph.constant 0.000000e+00 : tensor<4x8xf32>
  %i = graph.broadcast %h dims [0, 1] : tensor<f32> -> tensor<4x8xf32>
  // CHECK: %[[S:.*]] = graph.scale %{{.*}} by 4.000000e+00 : tensor<?x8xf32>
  %j = graph.multiply %4, %x : (tensor<f32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: graph.return %[[Z]], %[[S]]
  graph.return %i, %j : tensor<4x8xf32>, tensor<?x8xf32>
}

// 'like' stays only while the batch is dynamic.
// CHECK-LABEL: graph.func @like
graph.func @like(%s: tensor<f32>, %t: tensor<?x8xi32>, %u: tensor<4x8xi32>) -> (tensor<?x8xf32>, tensor<4x8xf32>) {
  // CHECK: graph.broadcast %{{.*}} like %{{.*}}, dims [0, 1] : tensor<f32> -> tensor<?x8xf32>
  %0 = graph.broadcast %s like %t : tensor<?x8xi32>, dims [0, 1] : tensor<f32> -> tensor<?x8xf32>
  // CHECK: graph.broadcast %{{[^ ]*}} dims [0, 1] : tensor<f32> -> tensor<4x8xf32>
  %1 = graph.broadcast %s like %u : tensor<4x8xi32>, dims [0, 1] : tensor<f32> -> tensor<4x8xf32>
  graph.return %0, %1 : tensor<?x8xf32>, tensor<4x8xf32>
}

// A constant is rounded to the type that it is cast to, here 1.013 to 1.015625, the nearest number of bf16, and spread in that type.
// CHECK-LABEL: graph.func @cast_constant
graph.func @cast_constant(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK-NOT: graph.cast
  // CHECK-NOT: graph.broadcast
  // CHECK: %[[Y:.*]] = graph.scale %{{.*}} by 1.015625
  // CHECK: graph.return %[[Y]]
  %c = graph.constant 1.013 : tensor<f32>
  %n = graph.cast %c : tensor<f32> to tensor<bf16>
  %b = graph.broadcast %n dims [0] : tensor<bf16> -> tensor<4xbf16>
  %y = graph.multiply %x, %b : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  graph.return %y : tensor<4xbf16>
}
