// What parameters, state, functions and calls refuse: one case per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// parameter_c1
// expected-error @+1 {{'graph.parameter' op has dynamic dim 0; only the batch may be dynamic}}
graph.parameter @w : tensor<?x4xf32> init zeros

// -----

// parameter_c2
// expected-error @+1 {{'graph.parameter' op is stored with 50 elements, but its type has 40}}
graph.parameter @w : tensor<10x4xf32> init zeros stored [10, 5]

// -----

// parameter_c2_negative
// expected-error @+1 {{'graph.parameter' op is stored with a dim of size -10, but 0 or more is wanted}}
graph.parameter @w : tensor<10x4xf32> init zeros stored [-10, -4]

// -----

// parameter_c2, more than can be counted
// expected-error @+1 {{'graph.parameter' op is stored with more elements than 64 bits count, but its type has 40}}
graph.parameter @w : tensor<10x4xf32> init zeros stored [4611686018427387904, 8]

// -----

// parameter_c3
// expected-error @+1 {{'graph.parameter' op is partial on mesh axis 0; what is stored must be replicated or split}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[partial(sum), replicate]>

// -----

// parameter_c4
// expected-error @+1 {{'graph.parameter' op is split along dim 2 on mesh axis 0, but has 2 dims}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(2), replicate]>

// -----

// parameter_c5
// expected-error @+1 {{'graph.parameter' op starts with standard deviation -1, but 0 or more is wanted}}
graph.parameter @w : tensor<4xf32> init normal(0.0, -1.0)

// -----

// parameter_c7
// expected-error @+1 {{'graph.parameter' op is used on 2 mesh axes, but rests on 1}}
graph.parameter @w : tensor<4xf32> init zeros placement <[replicate]> in_use <[replicate, replicate]>

// -----

// parameter_c7, without a place at rest
// expected-error @+1 {{'graph.parameter' op is used on 1 mesh axes, but rests on 0}}
graph.parameter @w : tensor<4xf32> init zeros in_use <[replicate]>

// -----

// parameter_c7, partial
// expected-error @+1 {{'graph.parameter' op is partial on mesh axis 0; what is stored must be replicated or split}}
graph.parameter @w : tensor<4xf32> init zeros placement <[replicate]> in_use <[partial(sum)]>

// -----

// parameter_c7, a dim that does not exist
// expected-error @+1 {{'graph.parameter' op is split along dim 1 on mesh axis 0, but has 1 dims}}
graph.parameter @w : tensor<4xf32> init zeros placement <[replicate]> in_use <[shard(1)]>

// -----

// an unknown initialiser
// expected-error @+1 {{custom op 'graph.parameter' initialiser 'uniform' is not known; write zeros, ones, constant(value) or normal(mean, stddev)}}
graph.parameter @w : tensor<4xf32> init uniform(0.0, 1.0)

// -----

// an unknown placement
// expected-error @+1 {{custom op 'graph.parameter' placement 'split' is not known; write replicate, shard(dim) or partial(sum|max)}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[split(0)]>

// -----

// a placement that cannot be partial
// expected-error @+1 {{custom op 'graph.parameter' a partial placement combines by 'mean', but only sum and max are possible}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[partial(mean)]>

// -----

// a placement of a dim before the first
// expected-error @+1 {{custom op 'graph.parameter' placement on mesh axis 0 splits dim -1, but dims count from 0}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(-1)]>

// -----

// levels that are not the smallest
// expected-error @+1 {{custom op 'graph.parameter' placement on mesh axis 0 is shard(0, level 2), but the levels of the axes that split dim 0 are numbered from 0, one up where a later axis of the mesh stands outside: write shard(0, level 1)}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(0, level 2), shard(0)]>

// -----

// a level of an axis that stands where the mesh puts it
// expected-error @+1 {{placement on mesh axis 1 is shard(0, level 1), but the levels}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(0), shard(0, level 1)]>

// -----

// two pieces of two pieces
// expected-error @+1 {{custom op 'graph.parameter' placement splits dim 1 zigzag over mesh axes 0 and 1, but one at most is possible}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(1, zigzag), shard(1, zigzag)]>

// -----

// windows that contradict themselves
// expected-error @+1 {{window of loop 1 is split over mesh axis 0 twice}}
module attributes {window = #graph.window<loop = 1, local = 4, global = 8, axes = [0, 0]>} {}

// -----

// expected-error @+1 {{window of loop 1 is zigzag over mesh axis 2, which does not split it}}
module attributes {window = #graph.window<loop = 1, local = 4, global = 8, axes = [0] zigzag 2>} {}

// -----

// expected-error @+1 {{window of loop 1 is zigzag, so its 5 indices must be two equal pieces}}
module attributes {window = #graph.window<loop = 1, local = 5, global = 8, axes = [0] zigzag 0>} {}

// -----

// state_c1
graph.parameter @w : tensor<4xf32> init zeros
// expected-error @+1 {{'graph.state' op has dynamic dim 0; only the batch may be dynamic}}
graph.state @m of @w : tensor<?xf32>

// -----

// state_c2
graph.parameter @w : tensor<10x4xf32> init zeros
// expected-error @+1 {{'graph.state' op is partial on mesh axis 0; what is stored must be replicated or split}}
graph.state @m of @w : tensor<10x4xf32> placement <[partial(sum)]>

// -----

// state_c3
graph.parameter @w : tensor<10x4xf32> init zeros
// expected-error @+1 {{'graph.state' op is split along dim 4 on mesh axis 0, but has 2 dims}}
graph.state @m of @w : tensor<10x4xf32> placement <[shard(4)]>

// -----

// state_c4
// expected-error @+1 {{'graph.state' op belongs to 'w', which is not a graph.parameter}}
graph.state @m of @w : tensor<4xf32>

// -----

// state_c5
// expected-note @+1 {{the parameter is here}}
graph.parameter @w : tensor<10x4xf32> init zeros
// expected-error @+1 {{'graph.state' op has type 'tensor<10xf32>', but its parameter 'w' has 'tensor<10x4xf32>'; want one shape}}
graph.state @m of @w : tensor<10xf32>

// -----

// get_c1
graph.func @f() {
  // expected-error @+1 {{'graph.get' op names 'w', which is no graph.parameter or graph.state}}
  %0 = graph.get @w : tensor<4xf32>
  graph.return
}

// -----

// get_c2
shard.grid @mesh(shape = 2x4)
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(0)]>
graph.func @f() {
  // expected-error @+1 {{'graph.get' op names 'w', which is placed on 1 mesh axes, but the mesh has 2}}
  %0 = graph.get @w : tensor<5x4xf32>
  graph.return
}

// -----

// get_c3
// expected-note @+1 {{declared here}}
graph.parameter @w : tensor<10x4xf32> init zeros
graph.func @f() {
  // expected-error @+1 {{'graph.get' op has type 'tensor<10x5xf32>', but 'w' has 'tensor<10x4xf32>'}}
  %0 = graph.get @w : tensor<10x5xf32>
  graph.return
}

// -----

// get_c3 on a mesh: 10 rows over 4 are 3 each
shard.grid @mesh(shape = 2x4)
// expected-note @+1 {{declared here}}
graph.parameter @w : tensor<10x4xf32> init zeros placement <[replicate, shard(0)]>
graph.func @f() {
  // expected-error @+1 {{'graph.get' op has type 'tensor<2x4xf32>', but 'w' has 'tensor<10x4xf32>' (one rank has 'tensor<3x4xf32>')}}
  %0 = graph.get @w : tensor<2x4xf32>
  graph.return
}

// -----

// set_c1
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.set' op names 'w', which is no graph.parameter or graph.state}}
  graph.set @w, %x : tensor<4xf32>
  graph.return
}

// -----

// set_c2
shard.grid @mesh(shape = 2x4)
graph.parameter @w : tensor<10x4xf32> init zeros placement <[shard(0)]>
graph.func @f(%x: tensor<5x4xf32>) {
  // expected-error @+1 {{'graph.set' op names 'w', which is placed on 1 mesh axes, but the mesh has 2}}
  graph.set @w, %x : tensor<5x4xf32>
  graph.return
}

// -----

// set_c3
// expected-note @+1 {{declared here}}
graph.parameter @w : tensor<10x4xf32> init zeros
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.set' op has type 'tensor<4xf32>', but 'w' has 'tensor<10x4xf32>'}}
  graph.set @w, %x : tensor<4xf32>
  graph.return
}

// -----

// input_c1
graph.func @f() {
  // expected-error @+1 {{'graph.input' op 'seed' has element type 'f32', but i64 is wanted}}
  %0 = graph.input seed : tensor<f32>
  graph.return
}

// -----

// input_c1, the other way
graph.func @f() {
  // expected-error @+1 {{'graph.input' op 'step' has element type 'i64', but f32 is wanted}}
  %0 = graph.input step : tensor<i64>
  graph.return
}

// -----

// func_c1
// expected-error @+1 {{'graph.func' op has 0 blocks, but one is wanted: a model has no control flow}}
graph.func private @f()

// -----

// return_c1
graph.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'graph.return' op returns 0 values, but 'f' has 1 results}}
  graph.return
}

// -----

// return_c2
graph.func @f(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{'graph.return' op returns 'tensor<4xf32>' as result 0, but 'f' has 'tensor<5xf32>'}}
  graph.return %x : tensor<4xf32>
}

// -----

// call_c1
graph.func @f() {
  // expected-error @+1 {{'graph.call' op calls 'block', which is no graph.func}}
  graph.call @block() : () -> ()
  graph.return
}

// -----

// call_c2
graph.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.return %x : tensor<4xf32>
}
graph.func @f() {
  // expected-error @+1 {{'graph.call' op has 0 arguments, but 'block' has 1}}
  %0 = graph.call @block() : () -> tensor<4xf32>
  graph.return
}

// -----

// call_c3
graph.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.return %x : tensor<4xf32>
}
graph.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{'graph.call' op argument 0 has type 'tensor<5xf32>', but 'block' has 'tensor<4xf32>'}}
  %0 = graph.call @block(%x) : (tensor<5xf32>) -> tensor<4xf32>
  graph.return
}

// -----

// call_c4
graph.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.return %x : tensor<4xf32>
}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.call' op has 0 results, but 'block' has 1}}
  graph.call @block(%x) : (tensor<4xf32>) -> ()
  graph.return
}

// -----

// call_c5
graph.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.return %x : tensor<4xf32>
}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.call' op result 0 has type 'tensor<5xf32>', but 'block' has 'tensor<4xf32>'}}
  %0 = graph.call @block(%x) : (tensor<4xf32>) -> tensor<5xf32>
  graph.return
}

// -----

// call_c6
graph.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.return %x : tensor<4xf32>
}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.call' op is instance -1, but instances count from 0}}
  %0 = graph.call @block(%x) instance -1 : (tensor<4xf32>) -> tensor<4xf32>
  graph.return
}

// -----

// parameter_c6
// expected-error @+1 {{'graph.parameter' op has 2 '*' in its name, but one at most stands for an index}}
graph.parameter @"h.*.experts.*.weight" : tensor<2x3x4xf32> init zeros

// -----

// parameter_c6_scalar
// expected-error @+1 {{'graph.parameter' op has '*' in its name for the index in dim 0, but no dims}}
graph.parameter @"experts.*.bias" : tensor<f32> init zeros

// -----

// parameter_c6_stored
// expected-error @+1 {{'graph.parameter' op has '*' in its name for the index in dim 0, which is 2, but is stored with dim 0 of 6}}
graph.parameter @"experts.*.weight" : tensor<2x3x4xf32> init zeros stored [6, 4]

// -----

// parameter_c6_stored_scalar
// expected-error @+1 {{'graph.parameter' op has '*' in its name for the index in dim 0, which is 1, but is stored with no dims}}
graph.parameter @"experts.*.bias" : tensor<1xf32> init zeros stored []

// -----

// func_c2
// expected-error @+1 {{'graph.func' op has argument 0 with input name "0", but a letter or '_' is wanted, then letters, digits, '_', '.' and '-'}}
graph.func @loss(%0: tensor<?x8xi32>) {
  graph.return
}

// -----

// func_c2_twice
// expected-error @+1 {{'graph.func' op has two inputs with the name 'tokens'}}
graph.func @loss(%tokens: tensor<?x8xi32>, %targets: tensor<?x8xi32> {graph.input = "tokens"}) {
  graph.return
}

// -----

// func_c3
// expected-error @+1 {{'graph.func' op has input 'x' of type 'tensor<?x8xbf16>', but a tensor of f32 or i32 is wanted, with the batch first}}
graph.func @loss(%x: tensor<?x8xbf16>) {
  graph.return
}

// -----

// func_c3_batch
// expected-error @+1 {{'graph.func' op has input 'x' of type 'tensor<f32>', but a tensor of f32 or i32 is wanted, with the batch first}}
graph.func @loss(%x: tensor<f32>) {
  graph.return
}

// -----

// expected-error @+1 {{'shard.grid' op has 'graph.axis_roles' of ["dat"], but an array of roles: data, tensor, context, expert or pipeline is wanted}}
shard.grid @mesh(shape = 2) {graph.axis_roles = ["dat"]}

// -----

// expected-error @+1 {{'shard.grid' op has 1 roles in 'graph.axis_roles', but a role for each of its 2 axes is wanted}}
shard.grid @mesh(shape = 2x2) {graph.axis_roles = ["data"]}

// -----

// state_c6
graph.parameter @"h.{4}.w" : tensor<4xf32> init ones repeats 2
// expected-error @+1 {{'graph.state' op counts from 0 in its name, but 'h.{4}.w' from 4}}
graph.state @"h.{}.w.m" of @"h.{4}.w" : tensor<4xf32>

// -----

// Braces hold a number or nothing.
// expected-error @+1 {{'graph.parameter' op has 0 '{}' in its name, but 1 is wanted: it is repeated}}
graph.parameter @"h.{x}.w" : tensor<4xf32> init ones repeats 2

// -----

// expected-error @+1 {{'graph.state' op has '{}' in its name, but no parameter that is repeated}}
graph.state @"h.{}.mean" : tensor<4xf32>

// -----

// state_c7
// expected-error @+1 {{'graph.state' op of 'tensor<4xi32>' starts random with standard deviation 1; want floating-point numbers and 0 or more}}
graph.state @calls : tensor<4xi32> init normal(0.0, 1.0)

// -----

// state_c7
// expected-error @+1 {{'graph.state' op of 'tensor<4xf32>' starts random with standard deviation -1; want floating-point numbers and 0 or more}}
graph.state @mean : tensor<4xf32> init normal(0.0, -1.0)

// -----

// state_c8
// expected-error @+1 {{'graph.state' op is a copy of no parameter, type 'tensor<4xf32>'; want f32 of a parameter, as which it starts}}
graph.state @master copy : tensor<4xf32>

// -----

// state_c8
graph.parameter @w : tensor<4xbf16> init ones
// expected-error @+1 {{'graph.state' op is a copy of type 'tensor<4xf16>'; want f32 of a parameter, as which it starts}}
graph.state @w.master copy of @w : tensor<4xf16>
