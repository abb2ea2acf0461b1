// Written by dtc.export.
!x = tensor<?x8x16xf32>
!norm1_weight = tensor<16xf32>
!tokens_0_weight = tensor<16x8xf32>
!tokens_2_weight = tensor<8x16xf32>
!tokens_2_bias = tensor<8xf32>
!channels_0_weight = tensor<32x16xf32>
!channels_0_bias = tensor<32xf32>
!channels_2_weight = tensor<16x32xf32>
!turned = tensor<?x16x8xf32>
!linear = tensor<?x16x16xf32>
!linear_3 = tensor<?x8x32xf32>
!patches = tensor<?x8x12xf32>
!targets = tensor<?xi32>
!stem_weight = tensor<16x12xf32>
!head_weight = tensor<5x16xf32>
!head_bias = tensor<5xf32>
!mean = tensor<?x16xf32>
!head = tensor<?x5xf32>
!loss = tensor<?xf32>

module @mixer {
  graph.func private @block(%x: !x) -> !x {
    %norm1_weight = graph.param "norm1.weight" normal(0.974, 0.222) : !norm1_weight
    %norm1_bias = graph.param "norm1.bias" normal(-0.0264, 0.175) : !norm1_weight
    %tokens_0_weight = graph.param "tokens.0.weight" normal(0.0, 0.169) decay : !tokens_0_weight
    %tokens_0_bias = graph.param "tokens.0.bias" normal(0.0, 0.172) : !norm1_weight
    %tokens_2_weight = graph.param "tokens.2.weight" normal(0.0, 0.178) decay : !tokens_2_weight
    %tokens_2_bias = graph.param "tokens.2.bias" normal(0.0, 0.19) : !tokens_2_bias
    %norm2_weight = graph.param "norm2.weight" normal(1.03, 0.245) : !norm1_weight
    %norm2_bias = graph.param "norm2.bias" normal(0.0205, 0.161) : !norm1_weight
    %channels_0_weight = graph.param "channels.0.weight" normal(0.0, 0.172) decay : !channels_0_weight
    %channels_0_bias = graph.param "channels.0.bias" normal(-0.0501, 0.161) : !channels_0_bias
    %channels_2_weight = graph.param "channels.2.weight" normal(0.0, 0.173) decay : !channels_2_weight
    %channels_2_bias = graph.param "channels.2.bias" normal(0.0, 0.163) : !norm1_weight
    %norm1 = graph.layer_norm %x, %norm1_weight, %norm1_bias : (!x, !norm1_weight, !norm1_weight) -> !x
    %turned = graph.transpose %norm1 by [0, 2, 1] : !x -> !turned
    %linear = graph.linear %turned, %tokens_0_weight, %tokens_0_bias transposed : (!turned, !tokens_0_weight, !norm1_weight) -> !linear
    %active = graph.gelu erf %linear : !linear
    %linear_2 = graph.linear %active, %tokens_2_weight, %tokens_2_bias transposed : (!linear, !tokens_2_weight, !tokens_2_bias) -> !turned
    %turned_2 = graph.transpose %linear_2 by [0, 2, 1] : !turned -> !x
    %sum = graph.add %x, %turned_2 : (!x, !x) -> !x
    %norm2 = graph.layer_norm %sum, %norm2_weight, %norm2_bias : (!x, !norm1_weight, !norm1_weight) -> !x
    %linear_3 = graph.linear %norm2, %channels_0_weight, %channels_0_bias transposed : (!x, !channels_0_weight, !channels_0_bias) -> !linear_3
    %active_2 = graph.gelu erf %linear_3 : !linear_3
    %linear_4 = graph.linear %active_2, %channels_2_weight, %channels_2_bias transposed : (!linear_3, !channels_2_weight, !norm1_weight) -> !x
    %sum_2 = graph.add %sum, %linear_4 : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%patches: !patches, %targets: !targets) -> tensor<f32> {
    %stem_weight = graph.param "stem.weight" normal(0.0, 0.182) decay : !stem_weight
    %stem_bias = graph.param "stem.bias" normal(-0.0419, 0.162) : !norm1_weight
    %stem = graph.linear %patches, %stem_weight, %stem_bias transposed : (!patches, !stem_weight, !norm1_weight) -> !x
    %layers = graph.repeat 3 @block(%stem) under "layers.{}" : (!x) -> !x
    %norm_weight = graph.param "norm.weight" normal(0.908, 0.212) : !norm1_weight
    %norm_bias = graph.param "norm.bias" normal(-0.0388, 0.173) : !norm1_weight
    %head_weight = graph.param "head.weight" normal(0.0, 0.178) decay : !head_weight
    %head_bias = graph.param "head.bias" normal(-0.0199, 0.0921) : !head_bias
    %norm = graph.layer_norm %layers, %norm_weight, %norm_bias : (!x, !norm1_weight, !norm1_weight) -> !x
    %mean = graph.reduce mean %norm dims [1] : !x -> !mean
    %head = graph.linear %mean, %head_weight, %head_bias transposed : (!mean, !head_weight, !head_bias) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 : (!head, !targets) -> !loss
    %mean_2 = graph.reduce sum %loss dims [0] : !loss -> tensor<f32>
    graph.return %mean_2 : tensor<f32>
  }
}
