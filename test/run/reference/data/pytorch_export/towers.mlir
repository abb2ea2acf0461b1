// Written by dtc.export.
!x = tensor<?x12xf32>
!_0_weight = tensor<12x12xf32>
!_0_bias = tensor<12xf32>
!x_2 = tensor<?x4x12xf32>
!query = tensor<?x6xi32>
!candidates = tensor<?x4x5xf32>
!words_weight = tensor<31x12xf32>
!cast = tensor<?x6xf32>
!words = tensor<?x6x12xf32>
!shaped = tensor<?x6x1xf32>
!mean_2 = tensor<?xf32>
!shaped_2 = tensor<?x1xf32>
!features_weight = tensor<12x5xf32>
!mean_4 = tensor<?x4xf32>
!shaped_4 = tensor<?x4x1xf32>
!shaped_5 = tensor<?x1x12xf32>
!cast_2 = tensor<?xi32>

module @towers {
  graph.func private @block(%x: !x) -> !x {
    %_0_weight = graph.param "0.weight" normal(0.0, 0.169) decay : !_0_weight
    %_0_bias = graph.param "0.bias" normal(0.0, 0.188) : !_0_bias
    %_1_weight = graph.param "1.weight" normal(0.0562, 0.157) : !_0_bias
    %_1_bias = graph.param "1.bias" normal(-0.0223, 0.187) : !_0_bias
    %linear = graph.linear %x, %_0_weight, %_0_bias transposed : (!x, !_0_weight, !_0_bias) -> !x
    %layer_norm = graph.layer_norm %linear, %_1_weight, %_1_bias : (!x, !_0_bias, !_0_bias) -> !x
    %active = graph.gelu erf %layer_norm : !x
    graph.return %active : !x
  }

  graph.func private @block_2(%x: !x_2) -> !x_2 {
    %_0_weight = graph.param "0.weight" normal(0.0, 0.177) decay : !_0_weight
    %_0_bias = graph.param "0.bias" normal(-0.0161, 0.149) : !_0_bias
    %_1_weight = graph.param "1.weight" normal(0.0456, 0.15) : !_0_bias
    %_1_bias = graph.param "1.bias" normal(0.0603, 0.118) : !_0_bias
    %linear = graph.linear %x, %_0_weight, %_0_bias transposed : (!x_2, !_0_weight, !_0_bias) -> !x_2
    %layer_norm = graph.layer_norm %linear, %_1_weight, %_1_bias : (!x_2, !_0_bias, !_0_bias) -> !x_2
    %active = graph.gelu erf %layer_norm : !x_2
    graph.return %active : !x_2
  }

  graph.func @loss(%query: !query, %candidates: !candidates) -> tensor<f32> {
    %words_weight = graph.param "words.weight" normal(0.0, 0.174) decay : !words_weight
    %number = graph.constant 0.0 : tensor<f32>
    %cast = graph.cast %query : !query to !cast
    %mask = graph.compare ne %cast, %number : (!cast, tensor<f32>) -> !cast
    %words = graph.embedding %words_weight, %query padding 0 : (!words_weight, !query) -> !words
    %shaped = graph.reshape %mask : !cast -> !shaped
    %product = graph.multiply %words, %shaped : (!words, !shaped) -> !words
    %mean = graph.reduce sum %product dims [1] : !words -> !x
    %mean_2 = graph.reduce sum %mask dims [1] : !cast -> !mean_2
    %clamp = graph.point clamp [1.0, 0x7FF0000000000000] %mean_2 : !mean_2
    %shaped_2 = graph.reshape %clamp : !mean_2 -> !shaped_2
    %quotient = graph.divide %mean, %shaped_2 : (!x, !shaped_2) -> !x
    %layers = graph.repeat 2 @block(%quotient) under "left.{}" : (!x) -> !x
    %features_weight = graph.param "features.weight" normal(-0.0484, 0.188) decay : !features_weight
    %features_bias = graph.param "features.bias" normal(-0.0827, 0.128) : !_0_bias
    %product_2 = graph.multiply %layers, %layers : (!x, !x) -> !x
    %mean_3 = graph.reduce sum %product_2 dims [1] : !x -> !mean_2
    %mask_2 = graph.compare eq %mean_3, %number : (!mean_2, tensor<f32>) -> !mean_2
    %number_2 = graph.constant 1.0 : tensor<f32>
    %chosen = graph.where %mask_2, %number_2, %mean_3 : (!mean_2, tensor<f32>, !mean_2) -> !mean_2
    %sqrt = graph.sqrt %chosen : !mean_2
    %chosen_2 = graph.where %mask_2, %number, %sqrt : (!mean_2, tensor<f32>, !mean_2) -> !mean_2
    %clamp_2 = graph.point clamp [1.0e-12, 0x7FF0000000000000] %chosen_2 : !mean_2
    %shaped_3 = graph.reshape %clamp_2 : !mean_2 -> !shaped_2
    %quotient_2 = graph.divide %layers, %shaped_3 : (!x, !shaped_2) -> !x
    %features = graph.linear %candidates, %features_weight, %features_bias transposed : (!candidates, !features_weight, !_0_bias) -> !x_2
    %layers_2 = graph.repeat 2 @block_2(%features) under "right.{}" : (!x_2) -> !x_2
    %temperature = graph.param "temperature" constant(-0.12474266439676285) : tensor<f32>
    %product_3 = graph.multiply %layers_2, %layers_2 : (!x_2, !x_2) -> !x_2
    %mean_4 = graph.reduce sum %product_3 dims [2] : !x_2 -> !mean_4
    %mask_3 = graph.compare eq %mean_4, %number : (!mean_4, tensor<f32>) -> !mean_4
    %chosen_3 = graph.where %mask_3, %number_2, %mean_4 : (!mean_4, tensor<f32>, !mean_4) -> !mean_4
    %sqrt_2 = graph.sqrt %chosen_3 : !mean_4
    %chosen_4 = graph.where %mask_3, %number, %sqrt_2 : (!mean_4, tensor<f32>, !mean_4) -> !mean_4
    %clamp_3 = graph.point clamp [1.0e-12, 0x7FF0000000000000] %chosen_4 : !mean_4
    %shaped_4 = graph.reshape %clamp_3 : !mean_4 -> !shaped_4
    %quotient_3 = graph.divide %layers_2, %shaped_4 : (!x_2, !shaped_4) -> !x_2
    %shaped_5 = graph.reshape %quotient_2 : !x -> !shaped_5
    %product_4 = graph.multiply %shaped_5, %quotient_3 : (!shaped_5, !x_2) -> !x_2
    %mean_5 = graph.reduce sum %product_4 dims [2] : !x_2 -> !mean_4
    %exp = graph.exp %temperature : tensor<f32>
    %product_5 = graph.multiply %mean_5, %exp : (!mean_4, tensor<f32>) -> !mean_4
    %wide = graph.broadcast %number like %query : !query, dims [0] : tensor<f32> -> !mean_2
    %cast_2 = graph.cast %wide : !mean_2 to !cast_2
    %loss = graph.cross_entropy %product_5, %cast_2 ignoring -100 mean : (!mean_4, !cast_2) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
