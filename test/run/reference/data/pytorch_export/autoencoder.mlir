// Written by dtc.export.
!images = tensor<?x1x8x8xf32>
!noise = tensor<?x4xf32>
!encoder_0_weight = tensor<6x1x4x4xf32>
!encoder_0_bias = tensor<6xf32>
!encoder_3_weight = tensor<2x4x6x4x4xf32>
!encoder_3_bias = tensor<2x4xf32>
!decoder_0_weight = tensor<96x4xf32>
!decoder_0_bias = tensor<96xf32>
!decoder_4_weight = tensor<1x6x3x3xf32>
!decoder_4_bias = tensor<1xf32>
!conv2d = tensor<?x6x4x4xf32>
!linear = tensor<?x2x4xf32>
!linear_2 = tensor<?x96xf32>
!wide = tensor<?x6x4x2x4x2xf32>
!shaped_2 = tensor<?x6x8x8xf32>
!mean = tensor<?x1xf32>
!mean_3 = tensor<?xf32>

module @autoencoder {
  graph.func @loss(%images: !images, %noise: !noise) -> tensor<f32> {
    %encoder_0_weight = graph.param "encoder.0.weight" normal(0.0, 0.175) decay : !encoder_0_weight
    %encoder_0_bias = graph.param "encoder.0.bias" normal(-0.114, 0.199) : !encoder_0_bias
    %encoder_3_weight = graph.param "encoder.3.weight" normal(0.0, 0.174) stored [[0, 1], [2, 3, 4]] decay : !encoder_3_weight
    %encoder_3_bias = graph.param "encoder.3.bias" normal(0.041, 0.21) stored [[0, 1]] : !encoder_3_bias
    %decoder_0_weight = graph.param "decoder.0.weight" normal(0.0, 0.177) decay : !decoder_0_weight
    %decoder_0_bias = graph.param "decoder.0.bias" normal(-0.0281, 0.155) : !decoder_0_bias
    %decoder_4_weight = graph.param "decoder.4.weight" normal(0.0, 0.172) decay : !decoder_4_weight
    %decoder_4_bias = graph.param "decoder.4.bias" constant(0.01639874279499054) : !decoder_4_bias
    %conv2d = graph.conv2d %images, %encoder_0_weight, %encoder_0_bias stride [2, 2] padding [1, 1] : (!images, !encoder_0_weight, !encoder_0_bias) -> !conv2d
    %leaky_relu = graph.point leaky_relu [0.2] %conv2d : !conv2d
    %linear = graph.linear %leaky_relu, %encoder_3_weight, %encoder_3_bias contract 3 transposed : (!conv2d, !encoder_3_weight, !encoder_3_bias) -> !linear
    %part, %part_2 = graph.unstack %linear dim 1 : !linear -> !noise
    %scale = graph.scale %part_2 by 0.5 : !noise
    %exp = graph.exp %scale : !noise
    %product = graph.multiply %noise, %exp : (!noise, !noise) -> !noise
    %sum = graph.add %part, %product : (!noise, !noise) -> !noise
    %linear_2 = graph.linear %sum, %decoder_0_weight, %decoder_0_bias transposed : (!noise, !decoder_0_weight, !decoder_0_bias) -> !linear_2
    %elu = graph.point elu [1.0, 1.0, 1.0] %linear_2 : !linear_2
    %shaped = graph.reshape %elu : !linear_2 -> !conv2d
    %wide = graph.broadcast %shaped dims [3, 5] : !conv2d -> !wide
    %shaped_2 = graph.reshape %wide : !wide -> !shaped_2
    %conv2d_2 = graph.conv2d %shaped_2, %decoder_4_weight, %decoder_4_bias padding [1, 1] : (!shaped_2, !decoder_4_weight, !decoder_4_bias) -> !images
    %sigmoid = graph.point sigmoid %images : !images
    %number = graph.constant 1.0 : tensor<f32>
    %log_sigmoid = graph.point log_sigmoid %conv2d_2 : !images
    %difference = graph.subtract %number, %sigmoid : (tensor<f32>, !images) -> !images
    %product_2 = graph.multiply %difference, %conv2d_2 : (!images, !images) -> !images
    %difference_2 = graph.subtract %product_2, %log_sigmoid : (!images, !images) -> !images
    %sum_2 = graph.add %part_2, %number : (!noise, tensor<f32>) -> !noise
    %product_3 = graph.multiply %part, %part : (!noise, !noise) -> !noise
    %difference_3 = graph.subtract %sum_2, %product_3 : (!noise, !noise) -> !noise
    %exp_2 = graph.exp %part_2 : !noise
    %difference_4 = graph.subtract %difference_3, %exp_2 : (!noise, !noise) -> !noise
    %scale_2 = graph.scale %difference_4 by -0.5 : !noise
    %mean = graph.reduce sum %difference_2 dims [2, 3] : !images -> !mean
    %mean_2 = graph.reduce mean %mean dims [0] : !mean -> !decoder_4_bias
    %mean_3 = graph.reduce sum %scale_2 dims [1] : !noise -> !mean_3
    %mean_4 = graph.reduce mean %mean_3 dims [0] : !mean_3 -> tensor<f32>
    %sum_3 = graph.add %mean_2, %mean_4 : (!decoder_4_bias, tensor<f32>) -> !decoder_4_bias
    %shaped_3 = graph.reshape %sum_3 : !decoder_4_bias -> tensor<f32>
    graph.return %shaped_3 : tensor<f32>
  }
}
