// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// param_c1
graph.func private @f() {
  // expected-error @+1 {{'graph.param' op declares 2 parameters, but has 1 results}}
  %w = "graph.param"() {declarations = [#graph.declaration<"a" ones>, #graph.declaration<"b" ones>]} : () -> tensor<4xf32>
  graph.return
}

// -----

// param_c2
graph.func private @f() {
  // expected-error @+1 {{'graph.param' op declares 'w' with dynamic dim 0; only the batch may be dynamic}}
  %w = graph.param "w" ones : tensor<?xf32>
  graph.return
}

// -----

// param_c3
graph.func private @f() {
  // expected-error @+1 {{'graph.param' op stores 1 dims of 'w', but its type has 2}}
  %w = graph.param "w" ones stored [[0]] : tensor<4x4xf32>
  graph.return
}

// -----

// param_c3_order
graph.func private @f() {
  // expected-error @+1 {{'stored' has dim 1 where dim 0 of the type is next}}
  %w = graph.param "w" ones stored [[1], [0]] : tensor<4x4xf32>
  graph.return
}

// -----

// param_c4
graph.func private @f() {
  // expected-error @+1 {{'graph.param' op starts 'w' with standard deviation -1, but 0 or more is wanted}}
  %w = graph.param "w" normal(0.0, -1.0) : tensor<4xf32>
  graph.return
}

// -----

// param_c5
graph.func private @f() {
  // expected-error @+1 {{'graph.param' op declares a parameter with an empty name}}
  %w = graph.param "" ones : tensor<4xf32>
  graph.return
}

// -----

// param_c5_braces
graph.func private @f() {
  // expected-error @+1 {{'graph.param' op declares 'h.{}.{0:2}.w' with 2 '{}', but at most one is wanted, for the number of the execution}}
  %w = graph.param "h.{}.{0:2}.w" ones : tensor<4xf32>
  graph.return
}

// -----

// param_c5_loss
graph.func @loss() {
  // expected-error @+1 {{'graph.param' op declares 'h.{}.w' with 1 '{}', but none is wanted outside of blocks}}
  %w = graph.param "h.{}.w" ones : tensor<4xf32>
  graph.return
}

// -----

// call_c7
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @loss(%x: tensor<?x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'graph.call' op has '{}' in 'under', but is called once; 'graph.repeat' numbers its executions}}
  %0:2 = graph.call @block(%x, %w) under "h.{}" : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  graph.return
}

// -----

// repeat_c1
graph.func @loss(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.repeat' op repeats 'nothing', which is no graph.func}}
  %0 = graph.repeat 2 @nothing(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  graph.return
}

// -----

// repeat_c2_most
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op repeats a block 65537 times, but 1 to 65536 is wanted}}
  %0:2 = graph.repeat 65537 @block(%x, %w) : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, !graph.stack<65537 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c2
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op repeats a block 0 times, but 1 to 65536 is wanted}}
  %0:2 = graph.repeat 0 @block(%x, %w) : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c3
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op has 1 arguments, but 'block' has 2}}
  %0:2 = graph.repeat 2 @block(%x) : (tensor<?x4xf32>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c4
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op argument 1 has type '!graph.stack<3 x tensor<4xf32>>', but 'block' has 'tensor<4xf32>'}}
  %0:2 = graph.repeat 2 @block(%x, %ws) : (tensor<?x4xf32>, !graph.stack<3 x tensor<4xf32>>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c5
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op has 1 results, but 'block' has 2}}
  %0 = graph.repeat 2 @block(%x, %w) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  graph.return
}

// -----

// repeat_c6
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op carries 3 tensors, but 'block' has 2 that are both arguments and results}}
  %0:2 = graph.repeat 2 @block(%x, %w) carrying 3 : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c6_block
// expected-note @+1 {{the block is here}}
graph.func private @grow(%x: tensor<?x4xf32>) -> tensor<?x8xf32> {
  %w = graph.param "w" ones : tensor<4x8xf32>
  %y = graph.linear %x, %w : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  graph.return %y : tensor<?x8xf32>
}
graph.func @loss(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.repeat' op carries argument 0 of 'grow', of type 'tensor<?x4xf32>', but the block gives back 'tensor<?x8xf32>'; each execution takes what the one before returned}}
  %0 = graph.repeat 2 @grow(%x) under "h.{}" : (tensor<?x4xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// repeat_c6_result
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op carries 'tensor<?x4xf32>' to 'tensor<?x8xf32>' as result 0, but 'block' has 'tensor<?x4xf32>'}}
  %0:2 = graph.repeat 2 @block(%x, %w) : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x8xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c7
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op result 1 has type 'tensor<?x4xf32>', but 'block' gives 'tensor<?x4xf32>' 2 times}}
  %0:2 = graph.repeat 2 @block(%x, %w) : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  graph.return
}

// -----

// repeat_c8
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op puts the block's parameters under "h.{}.{}", which has 2 '{}'; one is wanted, for the number of the execution}}
  %0:2 = graph.repeat 2 @block(%x, %w) under "h.{}.{}" : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// repeat_c9
graph.func private @block(%x: tensor<?x4xf32>, %w: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  graph.return %x, %x : tensor<?x4xf32>, tensor<?x4xf32>
}
graph.func @f(%x: tensor<?x4xf32>, %w: tensor<4xf32>, %ws: !graph.stack<3 x tensor<4xf32>>) {
  // expected-error @+1 {{'graph.repeat' op is instance -1, but instances count from 0}}
  %0:2 = graph.repeat 2 @block(%x, %w) instance -1 : (tensor<?x4xf32>, tensor<4xf32>) -> (tensor<?x4xf32>, !graph.stack<2 x tensor<?x4xf32>>)
  graph.return
}

// -----

// stack
// expected-error @+1 {{a stack has 0 entries, but 1 or more are wanted}}
graph.func private @f(%x: !graph.stack<0 x tensor<4xf32>>) {
  graph.return
}

// -----

// parameter_c8
// expected-error @+1 {{'graph.parameter' op has 0 '{}' in its name, but 1 is wanted: it is repeated}}
graph.parameter @w : tensor<4xf32> init ones repeats 2

// -----

// parameter_c8_braces
// expected-error @+1 {{'graph.parameter' op has 1 '{}' in its name, but 0 are wanted: it is not repeated}}
graph.parameter @"h.{}.w" : tensor<4xf32> init ones

// -----

// parameter_c8_count
// expected-error @+1 {{'graph.parameter' op is repeated 0 times, but 1 or more is wanted}}
graph.parameter @"h.{}.w" : tensor<4xf32> init ones repeats 0

// -----

// state_c6
graph.parameter @"h.{}.w" : tensor<4xf32> init ones repeats 2
// expected-error @+1 {{'graph.state' op has 0 '{}' in its name, but 'h.{}.w' has 1}}
graph.state @momentum of @"h.{}.w" : tensor<4xf32>

// -----

// get_c3
// expected-note @+1 {{declared here}}
graph.parameter @"h.{}.w" : tensor<4xf32> init ones repeats 2
graph.func @f() {
  // expected-error @+1 {{'graph.get' op has type 'tensor<4xf32>', but 'h.{}.w' has '!graph.stack<2 x tensor<4xf32>>'}}
  %w = graph.get @"h.{}.w" : tensor<4xf32>
  graph.return
}
