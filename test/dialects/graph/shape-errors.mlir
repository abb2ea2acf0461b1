// What ops that move elements and reductions refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// cumsum_c1
graph.func @cumsum_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.cumsum' op works on dim 2, but 'x' has 2 dims}}
  %0 = graph.cumsum %x dim 2 : tensor<?x8xf32>
  graph.return
}

// -----

// cumsum_c1_batch
graph.func @cumsum_c1_batch(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.cumsum' op works on dim 0 of 'x', which is dynamic}}
  %0 = graph.cumsum %x dim 0 : tensor<?x8xf32>
  graph.return
}

// -----

// reduce_c1
graph.func @reduce_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op entry 0 of 'dims' is 2, but there are 2 dims}}
  %0 = graph.reduce sum %x dims [2] : tensor<?x8xf32> -> tensor<?xf32>
  graph.return
}

// -----

// reduce_c1_order
graph.func @reduce_c1_order(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op entry 1 of 'dims' is 0 after 1, but dims are wanted in ascending order}}
  %0 = graph.reduce sum %x dims [1, 0] : tensor<?x8xf32> -> tensor<f32>
  graph.return
}

// -----

// reduce_c2
graph.func @reduce_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op dim 0 of 'result' is ?, but dim 1 of 'x' is 8}}
  %0 = graph.reduce sum %x dims [0] : tensor<?x8xf32> -> tensor<?xf32>
  graph.return
}

// -----

// reduce_c3
graph.func @reduce_c3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op 'result' has element type 'f16', but 'x' has 'f32'}}
  %0 = graph.reduce sum %x dims [0] : tensor<?x8xf32> -> tensor<8xf16>
  graph.return
}

// -----

// reduce_c4
graph.func @reduce_c4(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op has scale 2, but only a sum is scaled}}
  %0 = graph.reduce max %x dims [1] scale 2.0 : tensor<?x8xf32> -> tensor<?xf32>
  graph.return
}

// -----

// reduce_c5
graph.func @reduce_c5(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op entry 0 of 'windows' is about loop 1, whose index does not matter to this op}}
  %0 = graph.reduce sum %x dims [1] {windows = [#graph.window<loop = 1, local = 8, global = 16, axes = [1]>]} : tensor<?x8xf32> -> tensor<?xf32>
  graph.return
}

// -----

// broadcast_c1
graph.func @broadcast_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.broadcast' op entry 0 of 'dims' is 2, but there are 2 dims}}
  %0 = graph.broadcast %x dims [2] : tensor<4xf32> -> tensor<4x8xf32>
  graph.return
}

// -----

// broadcast_c2
graph.func @broadcast_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.broadcast' op adds 1 dims to 1, but the result has 3}}
  %0 = graph.broadcast %x dims [1] : tensor<4xf32> -> tensor<4x8x8xf32>
  graph.return
}

// -----

// broadcast_c3
graph.func @broadcast_c3(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'graph.broadcast' op dim 1 of 'x' is 2, but only a dim of size 1 repeats}}
  %0 = graph.broadcast %x dims [1] : tensor<4x2xf32> -> tensor<4x8xf32>
  graph.return
}

// -----

// broadcast_c4
graph.func @broadcast_c4(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.broadcast' op dim 0 of 'result' is new and dynamic; only dim 0 may be, with 'like' giving its size}}
  %0 = graph.broadcast %x dims [0] : tensor<4xf32> -> tensor<?x4xf32>
  graph.return
}

// -----

// broadcast_c5
graph.func @broadcast_c5(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.broadcast' op dim 0 of 'result' is 5, but dim 0 of 'x' is 4}}
  %0 = graph.broadcast %x dims [1] : tensor<4xf32> -> tensor<5x8xf32>
  graph.return
}

// -----

// broadcast_c6
graph.func @broadcast_c6(%x: tensor<4xf32>, %l: tensor<3x2xi32>) {
  // expected-error @+1 {{'graph.broadcast' op dim 0 of 'like' is 3, but dim 0 of 'result' is ?}}
  %0 = graph.broadcast %x like %l : tensor<3x2xi32>, dims [0] : tensor<4xf32> -> tensor<?x4xf32>
  graph.return
}

// -----

// reshape_c1
graph.func @reshape_c1(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'graph.reshape' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.reshape %x : tensor<4x6xf32> -> tensor<24xbf16>
  graph.return
}

// -----

// reshape_c2
graph.func @reshape_c2(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{'graph.reshape' op makes 'tensor<4x6xf32>' into 'tensor<25xf32>', which cannot hold the same elements}}
  %0 = graph.reshape %x : tensor<4x6xf32> -> tensor<25xf32>
  graph.return
}

// -----

// reshape_c2_batch
graph.func @reshape_c2_batch(%x: tensor<?x6xf32>) {
  // expected-error @+1 {{'graph.reshape' op makes 'tensor<?x6xf32>' into 'tensor<?x4xf32>', which cannot hold the same elements}}
  %0 = graph.reshape %x : tensor<?x6xf32> -> tensor<?x4xf32>
  graph.return
}

// -----

// reshape_c2_static
graph.func @reshape_c2_static(%x: tensor<?x6xf32>) {
  // expected-error @+1 {{'graph.reshape' op makes 'tensor<?x6xf32>' into 'tensor<12xf32>', which cannot hold the same elements}}
  %0 = graph.reshape %x : tensor<?x6xf32> -> tensor<12xf32>
  graph.return
}

// -----

// reshape_c2_huge
graph.func @reshape_c2_huge(%x: tensor<4611686018427387904x8xf32>) {
  // expected-error @+1 {{'graph.reshape' op makes 'tensor<4611686018427387904x8xf32>' into 'tensor<8x4611686018427387904xf32>', which cannot hold the same elements}}
  %0 = graph.reshape %x : tensor<4611686018427387904x8xf32> -> tensor<8x4611686018427387904xf32>
  graph.return
}

// -----

// transpose_c1
graph.func @transpose_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op permutes 3 dims, but 'x' has 2}}
  %0 = graph.transpose %x by [1, 0, 2] : tensor<?x8xf32> -> tensor<8x?xf32>
  graph.return
}

// -----

// transpose_c2
graph.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op entry 1 of 'permutation' is 1, but every dim from 0 to 1 is wanted once}}
  %0 = graph.transpose %x by [1, 1] : tensor<4x8xf32> -> tensor<8x8xf32>
  graph.return
}

// -----

// transpose_c3
graph.func @transpose_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op dim 0 of 'result' is 4, but dim 1 of 'x' is 8}}
  %0 = graph.transpose %x by [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  graph.return
}

// -----

// transpose_c4
graph.func @transpose_c4(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op 'result' has element type 'i32', but 'x' has 'f32'}}
  %0 = graph.transpose %x by [1, 0] : tensor<4x8xf32> -> tensor<8x4xi32>
  graph.return
}

// -----

// slice_c1
graph.func @slice_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.slice' op works on dim 0 of 'x', which is dynamic}}
  %0 = graph.slice %x dim 0 start 0 size 1 : tensor<?x8xf32> -> tensor<1x8xf32>
  graph.return
}

// -----

// slice_c1_dim
graph.func @slice_c1_dim(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.slice' op works on dim -1, but 'x' has 2 dims}}
  %0 = graph.slice %x dim -1 start 0 size 1 : tensor<?x8xf32> -> tensor<?x1xf32>
  graph.return
}

// -----

// slice_c2
graph.func @slice_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.slice' op takes 3 from 6 on, but dim 1 of 'x' is 8}}
  %0 = graph.slice %x dim 1 start 6 size 3 : tensor<?x8xf32> -> tensor<?x3xf32>
  graph.return
}

// -----

// slice_c3
graph.func @slice_c3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.slice' op drops dim 1 of size 2, but only size 1 can be dropped}}
  %0 = graph.slice %x dim 1 start 0 size 2 squeeze : tensor<?x8xf32> -> tensor<?xf32>
  graph.return
}

// -----

// slice_c4
graph.func @slice_c4(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.slice' op dim 1 of 'result' is 3, but the size of the slice is 2}}
  %0 = graph.slice %x dim 1 start 0 size 2 : tensor<?x8xf32> -> tensor<?x3xf32>
  graph.return
}

// -----

// slice_c5
graph.func @slice_c5(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.slice' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.slice %x dim 1 start 0 size 2 : tensor<?x8xf32> -> tensor<?x2xbf16>
  graph.return
}

// -----

// pad_c1
graph.func @pad_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.pad' op works on dim 2, but 'x' has 2 dims}}
  %0 = graph.pad %x dim 2 low 0 high 1 : tensor<?x8xf32> -> tensor<?x8xf32>
  graph.return
}

// -----

// pad_c2
graph.func @pad_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.pad' op adds -1 and 1 elements, but 0 or more are wanted}}
  %0 = graph.pad %x dim 1 low -1 high 1 : tensor<?x8xf32> -> tensor<?x8xf32>
  graph.return
}

// -----

// pad_c3
graph.func @pad_c3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.pad' op dim 1 of 'result' is 9, but the padded size is 10}}
  %0 = graph.pad %x dim 1 low 1 high 1 : tensor<?x8xf32> -> tensor<?x9xf32>
  graph.return
}

// -----

// pad_c4
graph.func @pad_c4(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.pad' op 'result' has element type 'i32', but 'x' has 'f32'}}
  %0 = graph.pad %x dim 1 low 1 high 1 : tensor<?x8xf32> -> tensor<?x10xi32>
  graph.return
}

// -----

// concat_c1
graph.func @concat_c1() {
  // expected-error @+1 {{'graph.concat' op joins nothing, but at least one input is wanted}}
  %0 = graph.concat dim 0 : () -> tensor<8xf32>
  graph.return
}

// -----

// concat_c2
graph.func @concat_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.concat' op works on dim 0 of 'result', which is dynamic}}
  %0 = graph.concat %x, %x dim 0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// concat_c3
graph.func @concat_c3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.concat' op 'result' has 2 dims, but 3 are wanted}}
  %0 = graph.concat %x dim 1 stack : (tensor<?x8xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// concat_c4
graph.func @concat_c4(%x: tensor<4x8xf32>, %y: tensor<3x8xf32>) {
  // expected-error @+1 {{'graph.concat' op dim 0 of 'inputs[1]' is 3, but dim 0 of 'result' is 4}}
  %0 = graph.concat %x, %y dim 1 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4x16xf32>
  graph.return
}

// -----

// concat_c5
graph.func @concat_c5(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.concat' op dim 1 of 'result' is 15, but the inputs together have 16}}
  %0 = graph.concat %x, %x dim 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x15xf32>
  graph.return
}

// -----

// unstack_c1
graph.func @unstack_c1(%x: tensor<?x2x4xf32>) {
  // expected-error @+1 {{custom op 'graph.unstack' dim 0 of 'tensor<?x2x4xf32>' has no number of elements, one for each result}}
  %0, %1 = graph.unstack %x dim 0 : tensor<?x2x4xf32> -> tensor<2x4xf32>
  graph.return
}

// -----

// unstack_c1_dim
graph.func @unstack_c1_dim(%x: tensor<?x2x4xf32>) {
  // expected-error @+1 {{custom op 'graph.unstack' dim 3 of 'tensor<?x2x4xf32>' has no number of elements, one for each result}}
  %0, %1 = graph.unstack %x dim 3 : tensor<?x2x4xf32> -> tensor<?x4xf32>
  graph.return
}

// -----

// unstack_c3
graph.func @unstack_c3(%x: tensor<?x2x4xf32>) {
  // expected-error @+1 {{'graph.unstack' op dim 1 of 'result' is 5, but dim 2 of 'x' is 4}}
  %0, %1 = graph.unstack %x dim 1 : tensor<?x2x4xf32> -> tensor<?x5xf32>
  graph.return
}

// -----

// unstack_c3_type
graph.func @unstack_c3_type(%x: tensor<?x2x4xf32>) {
  // expected-error @+1 {{'graph.unstack' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0, %1 = graph.unstack %x dim 1 : tensor<?x2x4xf32> -> tensor<?x4xbf16>
  graph.return
}
