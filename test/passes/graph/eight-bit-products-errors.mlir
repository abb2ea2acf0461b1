// RUN: not dtc-opt %s --dtc-set-precision=precision=fp8 2>&1 | FileCheck %s

// CHECK: error: a product gives 24 channels, which is no multiple of 16, as products in 8 bits need; use --precision bf16, or a model whose sizes are multiples of 16
graph.parameter @w : tensor<16x24xf32> init ones
graph.parameter @v : tensor<24x16xf32> init ones
graph.func @loss(%x: tensor<4x16xf32>) -> tensor<f32> {
  %w = graph.get @w : tensor<16x24xf32>
  %v = graph.get @v : tensor<24x16xf32>
  %y = graph.linear %x, %w : (tensor<4x16xf32>, tensor<16x24xf32>) -> tensor<4x24xf32>
  %z = graph.linear %y, %v : (tensor<4x24xf32>, tensor<24x16xf32>) -> tensor<4x16xf32>
  %l = graph.reduce mean %z dims [0, 1] : tensor<4x16xf32> -> tensor<f32>
  graph.return %l : tensor<f32>
}
