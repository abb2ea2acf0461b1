// RUN: dtc-opt %s --dtc-split-repeats=at=0,4,6,9 | FileCheck %s

// Each part has its parameters by the numbers that they had, and goes on where the one before ended. What all
// layers read alike stays one.
// CHECK: graph.parameter @shared : tensor<4xf32> init zeros
graph.parameter @shared : tensor<4xf32> init zeros
// CHECK-NEXT: graph.parameter @"h.{1}.a" : tensor<4xf32> init ones repeats 3
// CHECK-NEXT: graph.parameter @"g.{1:3}.b" : tensor<4xf32> init normal(0.{{0+}}e+00, 2.{{.*}}) decay repeats 3
// CHECK-NEXT: graph.parameter @"h.{4}.a" : tensor<4xf32> init ones repeats 2
// CHECK-NEXT: graph.parameter @"g.{10:3}.b" : tensor<4xf32> init normal({{.*}}) decay repeats 2
// CHECK-NEXT: graph.parameter @"h.{6}.a" : tensor<4xf32> init ones repeats 1
// CHECK-NEXT: graph.parameter @"g.{16:3}.b" : tensor<4xf32> init normal({{.*}}) decay repeats 1
graph.parameter @"h.{1}.a" : tensor<4xf32> init ones repeats 6
graph.parameter @"g.{1:3}.b" : tensor<4xf32> init normal(0.0, 0.02) decay repeats 6

graph.func private @block(%x: tensor<?x4xf32>, %all: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  graph.return %x : tensor<?x4xf32>
}

// The call before is layer 0, the repeat layers 1 to 6, the one behind, which no boundary cuts, 7 and 8.
// CHECK-LABEL: graph.func @loss
// CHECK: %[[SHARED:.*]] = graph.get @shared
// CHECK: %[[X:.*]] = graph.call @block
// CHECK-DAG: %[[A0:.*]] = graph.get @"h.{1}.a" : !graph.stack<3 x tensor<4xf32>>
// CHECK-DAG: %[[B0:.*]] = graph.get @"g.{1:3}.b" : !graph.stack<3 x tensor<4xf32>>
// CHECK: %[[Y:.*]] = graph.repeat 3 @block(%[[X]], %[[SHARED]], %[[A0]], %[[B0]]) instance 1 :
// CHECK-DAG: %[[A1:.*]] = graph.get @"h.{4}.a" : !graph.stack<2 x tensor<4xf32>>
// CHECK-DAG: %[[B1:.*]] = graph.get @"g.{10:3}.b" : !graph.stack<2 x tensor<4xf32>>
// CHECK: %[[Z:.*]] = graph.repeat 2 @block(%[[Y]], %[[SHARED]], %[[A1]], %[[B1]]) instance 4 :
// CHECK-DAG: %[[A2:.*]] = graph.get @"h.{6}.a" : !graph.stack<1 x tensor<4xf32>>
// CHECK-DAG: %[[B2:.*]] = graph.get @"g.{16:3}.b" : !graph.stack<1 x tensor<4xf32>>
// CHECK: %[[END:.*]] = graph.repeat 1 @block(%[[Z]], %[[SHARED]], %[[A2]], %[[B2]]) instance 6 :
// CHECK: graph.repeat 2 @block(%[[END]], %[[SHARED]], %[[SHARED]], %[[SHARED]]) instance 7 :
graph.func @loss(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %shared = graph.get @shared : tensor<4xf32>
  %0 = graph.call @block(%x, %shared, %shared, %shared) : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %a = graph.get @"h.{1}.a" : !graph.stack<6 x tensor<4xf32>>
  %b = graph.get @"g.{1:3}.b" : !graph.stack<6 x tensor<4xf32>>
  %1 = graph.repeat 6 @block(%0, %shared, %a, %b) instance 1 : (tensor<?x4xf32>, tensor<4xf32>, !graph.stack<6 x tensor<4xf32>>, !graph.stack<6 x tensor<4xf32>>) -> tensor<?x4xf32>
  %2 = graph.repeat 2 @block(%1, %shared, %shared, %shared) instance 7 : (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return %2 : tensor<?x4xf32>
}
