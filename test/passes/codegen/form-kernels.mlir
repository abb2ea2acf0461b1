// RUN: dtc-opt %s --dtc-form-kernels --split-input-file | FileCheck %s

// A bias and its gelu become one kernel; its equal in the next layer calls the same function. A library op stays.
// CHECK-LABEL: graph.func @chain
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>)
// CHECK:         %[[H:.*]] = graph.call @kernel_0(%[[X]], %[[B]])
// CHECK:         %[[L:.*]] = graph.linear %[[H]], %[[W]]
// CHECK:         %[[Y:.*]] = graph.call @kernel_0(%[[L]], %[[B]])
// CHECK:         graph.return %[[Y]]
// CHECK:       graph.func private @kernel_0
// CHECK-SAME:    attributes {kernel, kernel_in_place = [array<i64: 0, 0>], kernel_points = 32 : i64, kernel_range = 1 : i64, kernel_scalars = []}
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.gelu
// CHECK-NEXT:    graph.return
// CHECK-NOT:   graph.func
graph.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = graph.gelu tanh %0 : tensor<4x8xf32>
  %2 = graph.linear %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = graph.add %2, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %4 = graph.gelu tanh %3 : tensor<4x8xf32>
  graph.return %4 : tensor<4x8xf32>
}

// -----

// What others read stays a result of the kernel: the sum before the gelu.
// CHECK-LABEL: graph.func @extra_output
// CHECK:         %[[R:.*]]:2 = graph.call @kernel_0(%{{.*}}, %{{.*}}) : ({{.*}}) -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK:         graph.return %[[R]]#0, %[[R]]#1
graph.func @extra_output(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = graph.gelu tanh %0 : tensor<4x8xf32>
  graph.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The add needs the product of what the exp made, so the two cannot be one kernel.
// CHECK-LABEL: graph.func @no_cycle
// CHECK:         %[[E:.*]] = graph.call @kernel_0
// CHECK:         %[[M:.*]] = graph.linear %[[E]]
// CHECK:         graph.call @kernel_1(%[[E]], %[[M]])
graph.func @no_cycle(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.linear %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  graph.return %2 : tensor<8x8xf32>
}

// -----

// Two readers of one tensor run together even if a library op stands between them in the text.
// CHECK-LABEL: graph.func @siblings
// CHECK-SAME:    (%[[X:.*]]: tensor<8x8xf32>, %[[W:.*]]: tensor<8x8xf32>)
// CHECK:         %[[R:.*]]:2 = graph.call @kernel_0(%[[X]])
// CHECK:         %[[M:.*]] = graph.linear %[[R]]#0, %[[W]]
// CHECK:         graph.return %[[M]], %[[R]]#1
graph.func @siblings(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.linear %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.tanh %x : tensor<8x8xf32>
  graph.return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A constant moves into every kernel that uses it.
// CHECK-LABEL: graph.func @constants
// CHECK-NEXT:    graph.call @kernel_0(%{{[a-z0-9]*}}) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:    graph.call @kernel_1(%{{[a-z0-9]*}}) : (tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT:    graph.return
graph.func @constants(%x: tensor<8xf32>, %y: tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %c = graph.constant 3.0 : tensor<f32>
  %0 = graph.multiply %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = graph.multiply %y, %c : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  graph.return %0, %1 : tensor<8xf32>, tensor<16xf32>
}

// -----

// All arithmetic on scalars that can run together does: one launch instead of two.
// CHECK-LABEL: graph.func @scalars
// CHECK-COUNT-1: graph.call
// CHECK-NOT:     graph.call
// CHECK:         graph.return
graph.func @scalars(%norm: tensor<f32>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = graph.clip_scale %norm max 1.0
  %1 = graph.sqrt %x : tensor<f32>
  graph.return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// Rows are dealt out in units of 1024 elements or more, and a norm may overwrite its input. Statistics that nobody reads
// are no results.
// CHECK-LABEL: graph.func @norm
// CHECK:         graph.call @kernel_0({{.*}}) : (tensor<16x256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<16x256xf32>
// CHECK:       graph.func private @kernel_0
// CHECK-SAME:    kernel_combines, kernel_in_place = [array<i64: 0, 0>], kernel_points = 1024 : i64, kernel_range = 4 : i64
graph.func @norm(%x: tensor<16x256xf32>, %w: tensor<256xf32>, %b: tensor<256xf32>) -> tensor<16x256xf32> {
  %y, %mean, %rstd = graph.layer_norm %x, %w, %b
    : (tensor<16x256xf32>, tensor<256xf32>, tensor<256xf32>) -> (tensor<16x256xf32>, tensor<16xf32>, tensor<16xf32>)
  graph.return %y : tensor<16x256xf32>
}

// -----

// A sum over rows is one of blocks of columns, of which each adds up all rows: a unit's points belong together. Where
// nothing is added up they do not.
// CHECK-LABEL: graph.func @units
// CHECK:       graph.func private @kernel_0
// CHECK-SAME:    attributes {kernel, kernel_combines, kernel_in_place = [], kernel_points = 8192 : i64, kernel_range = 2 : i64
// CHECK:       graph.func private @kernel_1
// CHECK-SAME:    attributes {kernel, kernel_in_place = [array<i64: 0, 0>], kernel_points = 1024 : i64, kernel_range = 16 : i64
graph.func @units(%x: tensor<64x256xf32>) -> (tensor<256xf32>, tensor<64x256xf32>) {
  %0 = graph.reduce sum %x dims [0] : tensor<64x256xf32> -> tensor<256xf32>
  %1 = graph.sqrt %x : tensor<64x256xf32>
  graph.return %0, %1 : tensor<256xf32>, tensor<64x256xf32>
}

// -----

// The coordinates that a kernel reads are those of its split loops.
// CHECK-LABEL: graph.func @windows
// CHECK:       graph.func private @kernel_0
// CHECK-SAME:    kernel_scalars = [#graph.window<loop = 1, local = 16, global = 31, axes = [1]>]
graph.func @windows(%x: tensor<4x16xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
  %0 = graph.pick %x, %t {windows = [#graph.window<loop = 1, local = 16, global = 31, axes = [1]>]}
    : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  graph.return %0 : tensor<4xf32>
}

// -----

// Parameters are updated one kernel each, in place, also when they share the learning rate.
// CHECK-LABEL: graph.func @update
// CHECK-COUNT-2: graph.call @kernel_0
// CHECK:         graph.return
// CHECK:       graph.func private @kernel_0
// CHECK-SAME:    kernel_in_place = [array<i64: 0, 0>, array<i64: 0, 1>, array<i64: 0, 2>, array<i64: 1, 0>, array<i64: 1, 1>, array<i64: 1, 2>]
graph.func @update(%p: tensor<64xf32>, %b: tensor<64xf32>, %q: tensor<64xf32>, %c: tensor<64xf32>, %g: tensor<64xf32>,
    %h: tensor<64xf32>, %lr: tensor<f32>, %s: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %p1, %b1 = graph.sgd %p, %g, %b lr %lr grad_scale %s apply %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<64xf32>
  %q1, %c1 = graph.sgd %q, %h, %c lr %lr grad_scale %s apply %s {momentum = 0.0 : f64, weight_decay = 0.0 : f64} : tensor<64xf32>
  graph.return %p1, %b1, %q1, %c1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Chunks of a pipeline are run apart, and so are forward and backward of one: a kernel is of one of them, as its call says.
// Of equal bodies there is one function. A constant is made where it is used.
// CHECK-LABEL: graph.func @microbatch
// CHECK:         %[[A:.*]] = graph.call @kernel_0(%{{.*}}) {graph.chunk = 0 : i64, graph.phase = "forward"}
// CHECK:         %[[B:.*]] = graph.call @kernel_0(%[[A]]) {graph.chunk = 1 : i64, graph.phase = "forward"}
// CHECK:         graph.call @kernel_1(%[[B]]) {graph.chunk = 1 : i64, graph.phase = "backward"}
// CHECK:       graph.func private @kernel_0
// CHECK-NEXT:    graph.constant 2.000000e+00 : tensor<4xf32>
// CHECK-NEXT:    graph.multiply
// CHECK-NEXT:    graph.exp %{{.*}} : tensor<4xf32>
// CHECK:       graph.func private @kernel_1
// CHECK-NEXT:    graph.constant 2.000000e+00 : tensor<4xf32>
// CHECK-NEXT:    graph.multiply
// CHECK-NEXT:    graph.return
graph.func @microbatch(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.accumulated = "loss"}, tensor<4xf32>) {
  %two = graph.constant 2.0 : tensor<4xf32>
  %0 = graph.multiply %x, %two {graph.chunk = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.exp %0 {graph.chunk = 0 : i64} : tensor<4xf32>
  %2 = graph.multiply %1, %two {graph.chunk = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.exp %2 {graph.chunk = 1 : i64} : tensor<4xf32>
  %4 = graph.multiply %3, %two {graph.chunk = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  graph.return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A call says which results are parts of sums: what an op on a rank's part leaves, and what is made of that by ops that
// commute with sums, here the scale and not the exp, which so have a kernel each. The kernel does not have to know.
// CHECK-LABEL: graph.func @parts
// CHECK:         %[[SUM:.*]] = graph.call @kernel_0(%{{.*}}) {kernel_shares = array<i64: 2>}
// CHECK:         %[[ALL:.*]] = shard.all_reduce %[[SUM]]
// CHECK:         %[[HALF:.*]] = graph.call @{{.*}}(%[[SUM]]) {kernel_shares = array<i64: 2>}
// CHECK:         graph.call @{{.*}}(%[[ALL]]) :
// CHECK:         graph.call @{{.*}}(%[[HALF]]) :
// CHECK:       graph.func private @kernel_0
// CHECK-NEXT:    graph.reduce sum %{{.*}} dims [1] : tensor<4x8xf32>
shard.grid @mesh(shape = 2x2)
graph.func @parts(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.reduce sum %x dims [1] {graph.unfinished = array<i64: 2>} : tensor<4x8xf32> -> tensor<4xf32>
  %1 = shard.all_reduce %0 on @mesh grid_axes = [1] {graph.communication = #graph.communication<activation>} : tensor<4xf32> -> tensor<4xf32>
  %2 = graph.scale %0 by 0.5 : tensor<4xf32>
  %3 = shard.all_reduce %2 on @mesh grid_axes = [0] {graph.communication = #graph.communication<activation>} : tensor<4xf32> -> tensor<4xf32>
  %4 = graph.scale %1 by 0.5 : tensor<4xf32>
  %5 = shard.all_reduce %4 on @mesh grid_axes = [0] {graph.communication = #graph.communication<activation>} : tensor<4xf32> -> tensor<4xf32>
  %6 = graph.exp %2 : tensor<4xf32>
  graph.return %5, %6 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What runs on the host has a kernel of its own, alike as it may be: on a GPU its code is another.
// CHECK-LABEL: graph.func @host
// CHECK:         graph.call @kernel_0(%{{[^)]*}}) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK:         graph.call @kernel_1(%{{[^)]*}}) {graph.host}
// CHECK:       graph.func private @kernel_0
// CHECK-SAME:    attributes {kernel, kernel_
// CHECK:       graph.func private @kernel_1
// CHECK-SAME:    attributes {graph.host, kernel, kernel_
graph.func @host(%x: tensor<8xf32>, %there: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = graph.gelu tanh %x : tensor<8xf32>
  %1 = graph.gelu tanh %there {graph.host} : tensor<8xf32>
  graph.return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
