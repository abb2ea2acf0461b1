// What convolution and pooling refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// conv2d_c1
graph.func @conv2d_c1(%x: tensor<?x4x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'graph.conv2d' op 'x' has 3 dims, but 4 are wanted}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c1_dynamic
graph.func @conv2d_c1_dynamic(%x: tensor<?x4x?x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{dim 2 of 'x' is ?, but 1 to 2147483647 is wanted}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x?x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c1_weight
graph.func @conv2d_c1_weight(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x0x3xf32>) {
  // expected-error @+1 {{dim 2 of 'weight' is 0, but 1 to 2147483647 is wanted}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<6x4x0x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c2
graph.func @conv2d_c2(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'stride' is [0, 1], but two numbers, height and width, of 1 or more are wanted}}
  %0 = graph.conv2d %x, %w stride [0, 1] : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c2_padding
graph.func @conv2d_c2_padding(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'padding' is [1], but two numbers, height and width, of 0 or more are wanted}}
  %0 = graph.conv2d %x, %w padding [1] : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x8x8xf32>
  graph.return
}

// -----

// conv2d_c2_dilation
graph.func @conv2d_c2_dilation(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'dilation' is [1, 4294967296], but two numbers}}
  %0 = graph.conv2d %x, %w dilation [1, 4294967296] : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c3
graph.func @conv2d_c3(%x: tensor<?x4x8x8xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{dim 1 of 'x' is 4, but a multiple of dim 1 of 'weight', 3, is wanted: the channels of a group}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c3_filters
graph.func @conv2d_c3_filters(%x: tensor<?x4x8x8xf32>, %w: tensor<6x1x3x3xf32>) {
  // expected-error @+1 {{dim 0 of 'weight' is 6, but a multiple of the 4 groups is wanted}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c4
graph.func @conv2d_c4(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{has a kernel that covers 11 pixels along dim 3 of 'x', which has 8 and 1 of padding on both sides}}
  %0 = graph.conv2d %x, %w padding [1, 1] dilation [1, 5] : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x8x8xf32>
  graph.return
}

// -----

// conv2d_c5
graph.func @conv2d_c5(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{dim 2 of 'result' is 4, but (dim 2 of 'x' + 2 * padding - pixels of the kernel) / stride + 1 is 3}}
  %0 = graph.conv2d %x, %w stride [2, 2] : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x4x3xf32>
  graph.return
}

// -----

// conv2d_c5_filters
graph.func @conv2d_c5_filters(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{dim 1 of 'result' is 4, but dim 0 of 'weight' is 6}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x4x6x6xf32>
  graph.return
}

// -----

// conv2d_c6
graph.func @conv2d_c6(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xbf16>) {
  // expected-error @+1 {{'weight' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xbf16>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c7
graph.func @conv2d_c7(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.conv2d %x, %w : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xbf16>
  graph.return
}

// -----

// conv2d_c8
graph.func @conv2d_c8(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{dim 0 of 'bias' is 4, but dim 0 of 'weight' is 6}}
  %0 = graph.conv2d %x, %w, %b : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<4xf32>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_c8_element
graph.func @conv2d_c8_element(%x: tensor<?x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<6xf16>) {
  // expected-error @+1 {{'bias' has element type 'f16', but 'result' has 'f32'}}
  %0 = graph.conv2d %x, %w, %b : (tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf16>) -> tensor<?x6x6x6xf32>
  graph.return
}

// -----

// conv2d_input_grad
graph.func @conv2d_input_grad(%dy: tensor<?x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{dim 3 of 'dy' is 6, but (dim 3 of 'result' + 2 * padding - pixels of the kernel) / stride + 1 is 7}}
  %0 = graph.conv2d_input_grad %dy, %w : (tensor<?x6x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<?x4x8x9xf32>
  graph.return
}

// -----

// conv_transpose2d
graph.func @conv_transpose2d(%x: tensor<?x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{dim 3 of 'x' is 6, but (dim 3 of 'result' + 2 * padding - pixels of the kernel) / stride + 1 is 7}}
  %0 = graph.conv_transpose2d %x, %w : (tensor<?x6x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<?x4x8x9xf32>
  graph.return
}

// -----

// conv2d_weight_grad
graph.func @conv2d_weight_grad(%x: tensor<?x4x8x8xf32>, %dy: tensor<?x6x6x6xf32>) {
  // expected-error @+1 {{dim 1 of 'dy' is 6, but dim 0 of 'result' is 5}}
  %0 = graph.conv2d_weight_grad %x, %dy : (tensor<?x4x8x8xf32>, tensor<?x6x6x6xf32>) -> tensor<5x4x3x3xf32>
  graph.return
}

// -----

// pool_c1
graph.func @pool_c1(%x: tensor<?x4x8x8xf32>) {
  // expected-error @+1 {{'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.max_pool2d %x kernel [2, 2] : tensor<?x4x8x8xf32> -> tensor<?x4x7x7xbf16>
  graph.return
}

// -----

// pool_c2
graph.func @pool_c2(%x: tensor<?x4x8x8xf32>) {
  // expected-error @+1 {{'kernel' is [2, 2, 2], but two numbers, height and width, of 1 or more are wanted}}
  %0 = graph.avg_pool2d %x kernel [2, 2, 2] : tensor<?x4x8x8xf32> -> tensor<?x4x7x7xf32>
  graph.return
}

// -----

// pool_c3
graph.func @pool_c3(%x: tensor<?x4x8x8xf32>) {
  // expected-error @+1 {{has a padding of 2 for a kernel of 3, but half of it at most is wanted: every window has a pixel}}
  %0 = graph.max_pool2d %x kernel [3, 3] padding [2, 2] : tensor<?x4x8x8xf32> -> tensor<?x4x10x10xf32>
  graph.return
}

// -----

// pool_c4
graph.func @pool_c4(%x: tensor<?x4x8x8xf32>) {
  // expected-error @+1 {{has a kernel that covers 9 pixels along dim 2 of 'x', which has 8 and 0 of padding on both sides}}
  %0 = graph.avg_pool2d %x kernel [9, 1] : tensor<?x4x8x8xf32> -> tensor<?x4x1x1xf32>
  graph.return
}

// -----

// pool_c5
graph.func @pool_c5(%x: tensor<?x4x8x8xf32>) {
  // expected-error @+1 {{dim 1 of 'result' is 3, but dim 1 of 'x' is 4}}
  %0 = graph.max_pool2d %x kernel [2, 2] stride [2, 2] : tensor<?x4x8x8xf32> -> tensor<?x3x4x4xf32>
  graph.return
}

// -----

// max_pool2d_grad_c1
graph.func @max_pool2d_grad_c1(%x: tensor<?x4x8x8xf32>, %dy: tensor<?x4x7x7xf32>) {
  // expected-error @+1 {{dim 3 of 'result' is 7, but dim 3 of 'x' is 8}}
  %0 = graph.max_pool2d_grad %x, %dy kernel [2, 2] : (tensor<?x4x8x8xf32>, tensor<?x4x7x7xf32>) -> tensor<?x4x8x7xf32>
  graph.return
}

// -----

// avg_pool2d_grad
graph.func @avg_pool2d_grad(%dy: tensor<?x4x7x7xf32>) {
  // expected-error @+1 {{dim 2 of 'dy' is 7, but (dim 2 of 'result' + 2 * padding - pixels of the kernel) / stride + 1 is 6}}
  %0 = graph.avg_pool2d_grad %dy kernel [2, 2] : tensor<?x4x7x7xf32> -> tensor<?x4x7x8xf32>
  graph.return
}
