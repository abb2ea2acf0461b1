// RUN: dtc-opt %s --dtc-lower-kernels -verify-diagnostics --split-input-file
// RUN: not dtc-opt %s --dtc-lower-kernels=to=moon 2>&1 | FileCheck %s
// RUN: not dtc-opt %s --dtc-lower-kernels=to=ptx 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not dtc-opt %s --dtc-lower-kernels="target=sm_90 to=moon" 2>&1 | FileCheck %s --check-prefix=GPU
// RUN: not dtc-opt %s --dtc-lower-kernels=target=sm_70 2>&1 | FileCheck %s --check-prefix=TARGET

// CPU: cannot lower kernels to 'ptx'; the stages are 'buffers', 'vectors' and 'llvm'
// GPU: cannot lower kernels to 'moon'; the stages are 'buffers', 'vectors' and 'llvm', then 'ptx'
// TARGET: cannot lower kernels for 'sm_70'; the targets are 'cpu', 'sm_80', 'sm_90' and 'sm_100'
// CHECK: cannot lower kernels to 'moon'; the stages are 'buffers', 'vectors' and 'llvm'

graph.func private @library(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> attributes {kernel} {
  // expected-error @+1 {{has no generated kernel; a library or the runtime computes it}}
  %0 = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  graph.return %0 : tensor<4x8xf32>
}

// -----

graph.func private @mixed(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {kernel} {
  %0 = graph.exp %x : tensor<4x8xf32>
  // expected-error @+1 {{cannot share a kernel with other ops, as it is not pointwise}}
  %1 = graph.softmax %0 : tensor<4x8xf32>
  graph.return %1 : tensor<4x8xf32>
}
