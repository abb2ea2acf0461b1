// Written by dtc.export.
!features = tensor<?x6xf32>
!targets = tensor<?x3xf32>
!first_weight = tensor<12x6xf32>
!first_bias = tensor<12xf32>
!table = tensor<4x12xf32>
!second_weight = tensor<12x12xf32>
!last_weight = tensor<3x12xf32>
!last_bias = tensor<3xf32>
!first = tensor<?x12xf32>
!mean = tensor<?xf32>
!shaped = tensor<?x1xf32>

module @regressor {
  graph.func @loss(%features: !features, %targets: !targets) -> tensor<f32> {
    %first_weight = graph.param "first.weight" normal(0.0, 0.174) decay : !first_weight
    %first_bias = graph.param "first.bias" normal(-0.0402, 0.173) : !first_bias
    %table = graph.param "table" constant(3.0e38) frozen : !table
    %second_weight = graph.param "second.weight" normal(0.0, 0.166) frozen : !second_weight
    %second_bias = graph.param "second.bias" normal(-0.103, 0.178) : !first_bias
    %last_weight = graph.param "last.weight" normal(0.022, 0.178) decay : !last_weight
    %last_bias = graph.param "last.bias" normal(0.155, 0.00974) : !last_bias
    %first = graph.linear %features, %first_weight, %first_bias transposed : (!features, !first_weight, !first_bias) -> !first
    %tanh = graph.tanh %first : !first
    %part = graph.slice %table dim 0 start 1 size 1 squeeze : !table -> !first_bias
    %sum = graph.add %tanh, %part : (!first, !first_bias) -> !first
    %part_2 = graph.slice %table dim 0 start 2 size 1 squeeze : !table -> !first_bias
    %difference = graph.subtract %sum, %part_2 : (!first, !first_bias) -> !first
    %second = graph.linear %difference, %second_weight, %second_bias transposed : (!first, !second_weight, !first_bias) -> !first
    %abs = graph.point abs %second : !first
    %clamp = graph.point clamp [0.1, 0.9] %abs : !first
    %product = graph.multiply %difference, %difference : (!first, !first) -> !first
    %mean = graph.reduce sum %product dims [1] : !first -> !mean
    %number = graph.constant 1.0 : tensor<f32>
    %sum_2 = graph.add %mean, %number : (!mean, tensor<f32>) -> !mean
    %sqrt = graph.sqrt %sum_2 : !mean
    %shaped = graph.reshape %sqrt : !mean -> !shaped
    %quotient = graph.divide %clamp, %shaped : (!first, !shaped) -> !first
    %active = graph.silu %difference : !first
    %product_2 = graph.multiply %quotient, %active : (!first, !first) -> !first
    %number_2 = graph.constant 0.25 : tensor<f32>
    %difference_2 = graph.subtract %product_2, %number_2 : (!first, tensor<f32>) -> !first
    %last = graph.linear %difference_2, %last_weight, %last_bias transposed : (!first, !last_weight, !last_bias) -> !targets
    %scale = graph.scale %last by 0.5 : !targets
    %difference_3 = graph.subtract %scale, %targets : (!targets, !targets) -> !targets
    %product_3 = graph.multiply %difference_3, %difference_3 : (!targets, !targets) -> !targets
    %mean_2 = graph.reduce mean %product_3 dims [0, 1] : !targets -> tensor<f32>
    graph.return %mean_2 : tensor<f32>
  }
}
