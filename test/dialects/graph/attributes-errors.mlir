// What the dialect refuses of its discardable attributes: names, places, values.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// a typo
// expected-error @+1 {{'builtin.module' op has attribute 'graph.micro_batch', which the graph dialect does not declare; did you mean 'graph.micro_batches'?}}
module attributes {graph.micro_batch = 2 : i64} {}

// -----

// a name that is nobody's
// expected-error @+1 {{'builtin.module' op has attribute 'graph.elephant', which the graph dialect does not declare}}
module attributes {graph.elephant} {}

// -----

// config
// expected-error @+1 {{'builtin.module' op has 'graph.config' of 1 : i64, but a JSON object is wanted}}
module attributes {graph.config = 1 : i64} {}

// -----

// sequence_length
// expected-error @+1 {{'builtin.module' op has 'graph.sequence_length' of 0 : i64, but a whole number of 1 or more (i64) is wanted}}
module attributes {graph.sequence_length = 0 : i64} {}

// -----

// micro_batches
// expected-error @+1 {{'builtin.module' op has 'graph.micro_batches' of 2 : i32, but a whole number of 1 or more (i64) is wanted}}
module attributes {graph.micro_batches = 2 : i32} {}

// -----

// grad_dtype
// expected-error @+1 {{'builtin.module' op has 'graph.grad_dtype' of "f8", but f32 or bf16 is wanted}}
module attributes {graph.grad_dtype = "f8"} {}

// -----

// zero
// expected-error @+1 {{'builtin.module' op has 'graph.zero' of 4 : i64, but a whole number from 0 to 3 (i64) is wanted}}
module attributes {graph.zero = 4 : i64} {}

// -----

// sequence_parallel
// expected-error @+1 {{'builtin.module' op has 'graph.sequence_parallel' of true, but no value is wanted}}
module attributes {graph.sequence_parallel = true} {}

// -----

// axis_names, one short
// expected-error @+1 {{'shard.grid' op has 1 names in 'graph.axis_names', but a name for each of its 2 axes is wanted}}
shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp"]}

// -----

// axis_names, of numbers
// expected-error @+1 {{'shard.grid' op has 'graph.axis_names' of [1, 2], but an array of names is wanted}}
shard.grid @mesh(shape = 2x2) {graph.axis_names = [1, 2]}

// -----

// input
// expected-error @+1 {{'graph.func' op argument 1 has 'graph.input' of @x, but a name is wanted}}
graph.func @f(%x: tensor<4xf32>, %y: tensor<4xf32> {graph.input = @x}) {
  graph.return
}

// -----

// below
// expected-error @+1 {{'graph.func' op argument 0 has 'graph.below' of 0 : i64, but a whole number of 1 or more (i64) is wanted}}
graph.func @f(%x: tensor<4xi32> {graph.below = 0 : i64}) {
  graph.return
}

// -----

// ignored
// expected-error @+1 {{'graph.func' op argument 0 has 'graph.ignored' of 1.000000e+00 : f32, but a whole number (i64) is wanted}}
graph.func @f(%x: tensor<4xi32> {graph.ignored = 1.0 : f32}) {
  graph.return
}

// -----

// adds_up
// expected-error @+1 {{'graph.func' op has 'graph.adds_up' of true, but no value is wanted}}
graph.func @f(%x: tensor<4xi32>) attributes {graph.adds_up = true} {
  graph.return
}

// -----

// input, of a result
// expected-error @+1 {{'graph.func' op result 0 has attribute 'graph.input', which belongs on an argument of 'graph.func'}}
graph.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.input = "tokens"}) {
  graph.return %x : tensor<4xf32>
}

// -----

// output
// expected-error @+1 {{'graph.func' op result 0 has 'graph.output' of "", but a name is wanted}}
graph.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.output = ""}) {
  graph.return %x : tensor<4xf32>
}

// -----

// gradient_of
// expected-error @+1 {{'graph.func' op argument 0 has 'graph.gradient_of' of "w", but the symbol of a parameter is wanted}}
graph.func @f(%x: tensor<4xf32> {graph.gradient_of = "w"}) {
  graph.return
}

// -----

// gradient_of, a typo
// expected-error @+1 {{'graph.func' op argument 0 has attribute 'graph.gradientof', which the graph dialect does not declare; did you mean 'graph.gradient_of'?}}
graph.func @f(%x: tensor<4xf32> {graph.gradientof = @w}) {
  graph.return
}

// -----

// accumulated, of the module
// expected-error @+1 {{'builtin.module' op has attribute 'graph.accumulated', which belongs on an argument of 'graph.func' or a result of 'graph.func'}}
module attributes {graph.accumulated = "loss"} {}

// -----

// placement
// expected-error @+1 {{'graph.func' op result 0 has 'graph.placement' of "shard(0)", but a #graph.placement is wanted}}
graph.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.placement = "shard(0)"}) {
  graph.return %x : tensor<4xf32>
}

// -----

// placement of a dim that is not there
// expected-error @+1 {{'graph.func' op argument 0 is split along dim 1 on mesh axis 0, but has 1 dims}}
graph.func @f(%x: tensor<4xf32> {graph.placement = #graph.placement<[shard(1)]>}) {
  graph.return
}

// -----

// placement of a dim that is not there, of a result
// expected-error @+1 {{'graph.func' op result 0 is split along dim 3 on mesh axis 1, but has 1 dims}}
graph.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.placement = #graph.placement<[replicate, shard(3)]>}) {
  graph.return %x : tensor<4xf32>
}

// -----

// split
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' op has 'graph.splits' of "none", but an array<i64> is wanted}}
  %0 = graph.exp %x {graph.splits = "none"} : tensor<4xf32>
  graph.return
}

// -----

// unfinished
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' op has 'graph.unfinished' of array<i64: -1>, but an array<i64> of sets of mesh axes, as bits is wanted}}
  %0 = graph.exp %x {graph.unfinished = array<i64: -1>} : tensor<4xf32>
  graph.return
}

// -----

// communication
shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'shard.all_reduce' op has 'graph.communication' of "gradient", but a #graph.communication is wanted}}
  %0 = shard.all_reduce %x on @mesh grid_axes = [0] {graph.communication = "gradient"} : tensor<4xf32> -> tensor<4xf32>
  graph.return
}

// -----

// communication, of an op that does not communicate
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' op has attribute 'graph.communication', which belongs on a collective of the 'shard' dialect}}
  %0 = graph.exp %x {graph.communication = #graph.communication<control>} : tensor<4xf32>
  graph.return
}

// -----

// a role that is not known
shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{role 'gradients' is not known; write gradient, parameter, activation, expert, pipeline or control}}
  %0 = shard.all_reduce %x on @mesh grid_axes = [0] {graph.communication = #graph.communication<gradients>} : tensor<4xf32> -> tensor<4xf32>
  graph.return
}

// -----

// a use of what is no parameter
shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{only a parameter or an activation is brought to one of its uses, not gradient}}
  %0 = shard.all_reduce %x on @mesh grid_axes = [0] {graph.communication = #graph.communication<gradient async use 1>} : tensor<4xf32> -> tensor<4xf32>
  graph.return
}

// -----

// uses count from 1
shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
graph.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{uses count from 1, not -1}}
  %0 = shard.all_reduce %x on @mesh grid_axes = [0] {graph.communication = #graph.communication<parameter use -1>} : tensor<4xf32> -> tensor<4xf32>
  graph.return
}

// -----

// expected-error @+1 {{'builtin.module' op has 'graph.stage_of_chunk' of array<i64: 0, -1>, but an array<i64> of stages, which count from 0 is wanted}}
module attributes {graph.stage_of_chunk = array<i64: 0, -1>} {}

// -----

graph.func @loss(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.exp' op has 'graph.recompute' of "some", but none, selective, selective+attention, selective+linear, selective+attention+linear, selective+experts, selective+attention+experts, selective+linear+experts, selective+attention+linear+experts or full is wanted}}
  %y = graph.exp %x {graph.recompute = "some"} : tensor<?x8xf32>
  graph.return
}

// -----

graph.func @loss(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.exp' op has 'graph.phase' of "update", but forward or backward is wanted}}
  %y = graph.exp %x {graph.chunk = 0 : i64, graph.phase = "update"} : tensor<?x8xf32>
  graph.return
}
