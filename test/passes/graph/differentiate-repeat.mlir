// A repeat is differentiated as one: its block once, whatever the number of executions, and what backward needs of each is
// kept in stacks.
// RUN: dtc-opt %s --dtc-differentiate --canonicalize --cse | FileCheck %s

graph.parameter @"h.{}.w" : tensor<6x6xf32> init normal(0.0, 0.02) repeats 5
graph.parameter @shared : tensor<6x6xf32> init normal(0.0, 0.02)

graph.func private @block(%x: tensor<2x6xf32>, %shared: tensor<6x6xf32>, %w: tensor<6x6xf32>) -> tensor<2x6xf32> {
  %0 = graph.linear %x, %w : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
  %1 = graph.exp %0 : tensor<2x6xf32>
  %2 = graph.linear %1, %shared : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
  graph.return %2 : tensor<2x6xf32>
}

// What is carried is kept of every execution, its argument too; the last value is the result.
// Backward goes from the last execution to the first. It carries the gradient of what forward carries, and the sum of the
// gradients of what is the same for all, from 0 on; gradients of stacks are stacks.
// CHECK-LABEL: graph.func @microbatch
// CHECK-SAME:  !graph.stack<5 x tensor<6x6xf32>> {graph.gradient_of = @"h.{}.w"}, tensor<6x6xf32> {graph.gradient_of = @shared}
// CHECK-DAG:   %[[ZERO:.*]] = graph.constant 0.000000e+00 : tensor<6x6xf32>
// CHECK-DAG:   %[[DY:.*]] = graph.constant {{.*}} : tensor<2x6xf32>
// CHECK:       %[[F:.*]]:3 = graph.repeat 5 @block_forward(%{{.*}}, %[[SHARED:.*]], %[[WS:.*]]) : (tensor<2x6xf32>, tensor<6x6xf32>, !graph.stack<5 x tensor<6x6xf32>>) -> (tensor<2x6xf32>, !graph.stack<5 x tensor<2x6xf32>>, !graph.stack<5 x tensor<2x6xf32>>)
// CHECK:       %[[B:.*]]:3 = graph.repeat 5 reversed @block_backward(%[[DY]], %[[ZERO]], %{{.*}}) carrying 2
// CHECK-SAME:  -> (tensor<2x6xf32>, tensor<6x6xf32>, !graph.stack<5 x tensor<6x6xf32>>)
// CHECK:       graph.return %{{.*}}, %[[B]]#2, %[[B]]#1
graph.func @loss(%x: tensor<2x6xf32> {graph.input = "x"}) -> tensor<f32> {
  %ws = graph.get @"h.{}.w" : !graph.stack<5 x tensor<6x6xf32>>
  %shared = graph.get @shared : tensor<6x6xf32>
  %y = graph.repeat 5 @block(%x, %shared, %ws) : (tensor<2x6xf32>, tensor<6x6xf32>, !graph.stack<5 x tensor<6x6xf32>>) -> tensor<2x6xf32>
  %m = graph.reduce sum %y dims [0, 1] : tensor<2x6xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}

// CHECK-LABEL: graph.func private @block_forward
// CHECK-SAME:  (%[[X:.*]]: tensor<2x6xf32>, %[[S:.*]]: tensor<6x6xf32>, %[[W:.*]]: tensor<6x6xf32>)
// CHECK-SAME:  -> (tensor<2x6xf32>, tensor<2x6xf32> {graph.saved}, tensor<2x6xf32> {graph.saved})
// CHECK:       %[[E:.*]] = graph.exp
// CHECK:       %[[Y:.*]] = graph.linear %[[E]], %[[S]]
// CHECK:       graph.return %[[Y]], %[[E]], %[[X]]

// CHECK-LABEL: graph.func private @block_backward
// CHECK-SAME:  (%[[G:[^:]*]]: tensor<2x6xf32>, %[[SUM:[^:]*]]: tensor<6x6xf32>
// CHECK:       %[[GS:.*]] = graph.linear_weight_grad %{{.*}}, %[[G]]
// CHECK:       %[[NEXT:.*]] = graph.add %[[SUM]], %[[GS]]
// CHECK:       graph.return %{{.*}}, %[[NEXT]], %{{.*}} : tensor<2x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
