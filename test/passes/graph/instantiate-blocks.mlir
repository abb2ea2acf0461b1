// Parameters come from the functions that declare them.
// RUN: dtc-opt %s -dtc-instantiate-blocks -split-input-file | FileCheck %s

// A repeated block declares one parameter for all its executions; names are relative to where it is instantiated, sizes in a
// file are those of merged dims.
// CHECK: graph.parameter @wte : tensor<16x8xf32> init normal(0.000000e+00, 2.000000e-02) decay
// CHECK-NEXT: graph.parameter @"h.{}.ln.weight" : tensor<8xf32> init ones repeats 3
// CHECK-NEXT: graph.parameter @"h.{}.attn.w" : tensor<8x2x4xf32> init constant(5.000000e-01) stored [8, 8] repeats 3
// CHECK-NEXT: graph.parameter @last.ln.weight : tensor<8xf32> init ones
// CHECK-NEXT: graph.parameter @last.attn.w : tensor<8x2x4xf32> init constant(5.000000e-01) stored [8, 8]
// CHECK-NEXT: graph.parameter @scale : tensor<8xf32> init zeros
// CHECK: graph.func private @block(%[[X:.*]]: tensor<?x8xf32>, %[[LN:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x2x4xf32>) -> tensor<?x8xf32>
graph.func private @block(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %ln, %w = graph.param "ln.weight" ones, "attn.w" constant(0.5) stored [[0], [1, 2]] : tensor<8xf32>, tensor<8x2x4xf32>
  // CHECK-NEXT: %[[Y:.*]] = graph.multiply %[[X]], %[[LN]]
  %y = graph.multiply %x, %ln : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: %[[H:.*]] = graph.linear %[[Y]], %[[W]]
  %h = graph.linear %y, %w : (tensor<?x8xf32>, tensor<8x2x4xf32>) -> tensor<?x2x4xf32>
  %z = graph.reshape %h : tensor<?x2x4xf32> -> tensor<?x8xf32>
  graph.return %z : tensor<?x8xf32>
}
// CHECK: graph.func @loss(%[[T:.*]]: tensor<?xi32>)
graph.func @loss(%tokens: tensor<?xi32>) -> tensor<f32> {
  // CHECK-NEXT: %[[WTE:.*]] = graph.get @wte : tensor<16x8xf32>
  %wte = graph.param "wte" normal(0.0, 0.02) decay : tensor<16x8xf32>
  // CHECK-NEXT: %[[E:.*]] = graph.embedding %[[WTE]], %[[T]]
  %x = graph.embedding %wte, %tokens : (tensor<16x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  // CHECK-NEXT: %[[LNS:.*]] = graph.get @"h.{}.ln.weight" : !graph.stack<3 x tensor<8xf32>>
  // CHECK-NEXT: %[[WS:.*]] = graph.get @"h.{}.attn.w" : !graph.stack<3 x tensor<8x2x4xf32>>
  // CHECK-NEXT: %[[R:.*]] = graph.repeat 3 @block(%[[E]], %[[LNS]], %[[WS]]) : (tensor<?x8xf32>, !graph.stack<3 x tensor<8xf32>>, !graph.stack<3 x tensor<8x2x4xf32>>) -> tensor<?x8xf32>
  %y = graph.repeat 3 @block(%x) under "h.{}" : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK-NEXT: %[[L:.*]] = graph.get @last.ln.weight
  // CHECK-NEXT: %[[V:.*]] = graph.get @last.attn.w
  // CHECK-NEXT: %[[C:.*]] = graph.call @block(%[[R]], %[[L]], %[[V]])
  %z = graph.call @block(%y) under "last" : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %scale = graph.param "scale" zeros : tensor<8xf32>
  // CHECK-NOT: graph.param{{ }}
  %s = graph.multiply %z, %scale : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %mean = graph.reduce mean %s dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

// What a block calls is put in its place, once for each execution, under names and with random streams of its own.
// CHECK: graph.parameter @"h.{}.in.0.w" : tensor<4xf32> init ones repeats 2
// CHECK-NEXT: graph.parameter @"h.{}.in.1.w" : tensor<4xf32> init ones repeats 2
// CHECK-NEXT: graph.parameter @"h.{}.out.w" : tensor<4xf32> init ones repeats 2
graph.func private @inner(%x: tensor<?x4xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<?x4xf32> {
  %w = graph.param "w" ones : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %z = graph.dropout %y p 0.5 id 7 key(%seed, %step) : tensor<?x4xf32>
  graph.return %z : tensor<?x4xf32>
}
// CHECK: graph.func private @outer(%[[X:.*]]: tensor<?x4xf32>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<f32>, %[[W0:.*]]: tensor<4xf32>, %[[W1:.*]]: tensor<4xf32>, %[[W2:.*]]: tensor<4xf32>)
graph.func private @outer(%x: tensor<?x4xf32>, %seed: tensor<i64>, %step: tensor<f32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: %[[Y0:.*]] = graph.multiply %[[X]], %[[W0]]
  // CHECK-NEXT: %[[D0:.*]] = graph.dropout %[[Y0]] p 5.000000e-01 id 8 key
  // CHECK-NEXT: %[[Y1:.*]] = graph.multiply %[[D0]], %[[W1]]
  // CHECK-NEXT: %[[D1:.*]] = graph.dropout %[[Y1]] p 5.000000e-01 id 9 key
  %y = graph.repeat 2 @inner(%x, %seed, %step) under "in.{}" : (tensor<?x4xf32>, tensor<i64>, tensor<f32>) -> tensor<?x4xf32>
  // CHECK-NEXT: %[[Y2:.*]] = graph.multiply %[[D1]], %[[W2]]
  // CHECK-NEXT: graph.dropout %[[Y2]] p 5.000000e-01 id 10 key
  %z = graph.call @inner(%y, %seed, %step) under "out" : (tensor<?x4xf32>, tensor<i64>, tensor<f32>) -> tensor<?x4xf32>
  graph.return %z : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  %seed = graph.input seed : tensor<i64>
  %step = graph.input step : tensor<f32>
  // CHECK: graph.repeat 2 @outer(
  %y = graph.repeat 2 @outer(%x, %seed, %step) under "h.{}" : (tensor<?x4xf32>, tensor<i64>, tensor<f32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}

// -----

// A block of two layers that alternate names both; a block that it calls has names of its numbers, too.
// CHECK: graph.parameter @"h.{0:2}.w" : tensor<4xf32> init ones repeats 3
// CHECK-NEXT: graph.parameter @"h.{1:2}.w" : tensor<4xf32> init zeros repeats 3
// CHECK: graph.repeat 3 @pair(
graph.func private @second(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = graph.param "h.{1:2}.w" zeros : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return %y : tensor<?x4xf32>
}
graph.func private @pair(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = graph.param "h.{0:2}.w" ones : tensor<4xf32>
  %y = graph.multiply %x, %w : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %z = graph.call @second(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  graph.return %z : tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  %y = graph.repeat 3 @pair(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %mean = graph.reduce mean %y dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
  graph.return %mean : tensor<f32>
}
