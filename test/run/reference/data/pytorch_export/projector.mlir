// Written by dtc.export.
!x = tensor<?x12x2x2xf32>
!norm1_weight = tensor<12xf32>
!self_attn_in_proj_weight = tensor<3x2x6x12xf32>
!self_attn_in_proj_bias = tensor<3x2x6xf32>
!self_attn_out_proj_weight = tensor<12x2x6xf32>
!linear1_weight = tensor<24x12xf32>
!linear1_bias = tensor<24xf32>
!linear2_weight = tensor<12x24xf32>
!turned = tensor<?x2x2x12xf32>
!self_attn = tensor<?x2x2x3x2x6xf32>
!part = tensor<?x2x2x2x6xf32>
!shaped = tensor<?x4x2x6xf32>
!self_attn_2 = tensor<?x4x12xf32>
!linear1 = tensor<?x2x2x24xf32>
!x_2 = tensor<?x9x12xf32>
!self_attn_3 = tensor<?x9x3x2x6xf32>
!part_2 = tensor<?x9x2x6xf32>
!linear1_2 = tensor<?x9x24xf32>
!images = tensor<?x3x8x8xf32>
!tokens = tensor<?x5xi32>
!patches_weight = tensor<12x3x4x4xf32>
!words_weight = tensor<31x12xf32>
!words = tensor<?x5x12xf32>
!head = tensor<?x5x31xf32>

module @projector {
  graph.func private @block(%x: !x) -> !x {
    %norm1_weight = graph.param "norm1.weight" normal(0.995, 0.23) frozen : !norm1_weight
    %norm1_bias = graph.param "norm1.bias" normal(0.0445, 0.186) frozen : !norm1_weight
    %self_attn_in_proj_weight = graph.param "self_attn.in_proj_weight" normal(0.0, 0.173) stored [[0, 1, 2], [3]] frozen : !self_attn_in_proj_weight
    %self_attn_in_proj_bias = graph.param "self_attn.in_proj_bias" normal(-0.0515, 0.174) stored [[0, 1, 2]] frozen : !self_attn_in_proj_bias
    %self_attn_out_proj_weight = graph.param "self_attn.out_proj.weight" normal(0.0, 0.175) stored [[0], [1, 2]] frozen : !self_attn_out_proj_weight
    %self_attn_out_proj_bias = graph.param "self_attn.out_proj.bias" normal(-0.0805, 0.165) frozen : !norm1_weight
    %norm2_weight = graph.param "norm2.weight" normal(1.04, 0.257) frozen : !norm1_weight
    %norm2_bias = graph.param "norm2.bias" normal(-0.0324, 0.188) frozen : !norm1_weight
    %linear1_weight = graph.param "linear1.weight" normal(0.0, 0.174) frozen : !linear1_weight
    %linear1_bias = graph.param "linear1.bias" normal(0.0, 0.171) frozen : !linear1_bias
    %linear2_weight = graph.param "linear2.weight" normal(0.0, 0.173) frozen : !linear2_weight
    %linear2_bias = graph.param "linear2.bias" normal(0.0, 0.182) frozen : !norm1_weight
    %turned = graph.transpose %x by [0, 2, 3, 1] : !x -> !turned
    %norm1 = graph.layer_norm %turned, %norm1_weight, %norm1_bias : (!turned, !norm1_weight, !norm1_weight) -> !turned
    %self_attn = graph.linear %norm1, %self_attn_in_proj_weight, %self_attn_in_proj_bias transposed : (!turned, !self_attn_in_proj_weight, !self_attn_in_proj_bias) -> !self_attn
    %part, %part_2, %part_3 = graph.unstack %self_attn dim 3 : !self_attn -> !part
    %shaped = graph.reshape %part : !part -> !shaped
    %shaped_2 = graph.reshape %part_2 : !part -> !shaped
    %shaped_3 = graph.reshape %part_3 : !part -> !shaped
    %heads = graph.attention %shaped, %shaped_2, %shaped_3 : (!shaped, !shaped, !shaped) -> !shaped
    %self_attn_2 = graph.linear %heads, %self_attn_out_proj_weight, %self_attn_out_proj_bias contract 2 transposed : (!shaped, !self_attn_out_proj_weight, !norm1_weight) -> !self_attn_2
    %shaped_4 = graph.reshape %self_attn_2 : !self_attn_2 -> !turned
    %turned_2 = graph.transpose %shaped_4 by [0, 3, 1, 2] : !turned -> !x
    %sum = graph.add %x, %turned_2 : (!x, !x) -> !x
    %turned_3 = graph.transpose %sum by [0, 2, 3, 1] : !x -> !turned
    %norm2 = graph.layer_norm %turned_3, %norm2_weight, %norm2_bias : (!turned, !norm1_weight, !norm1_weight) -> !turned
    %linear1 = graph.linear %norm2, %linear1_weight, %linear1_bias transposed : (!turned, !linear1_weight, !linear1_bias) -> !linear1
    %active = graph.gelu erf %linear1 : !linear1
    %linear2 = graph.linear %active, %linear2_weight, %linear2_bias transposed : (!linear1, !linear2_weight, !norm1_weight) -> !turned
    %turned_4 = graph.transpose %linear2 by [0, 3, 1, 2] : !turned -> !x
    %sum_2 = graph.add %sum, %turned_4 : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func private @block_2(%x: !x_2) -> !x_2 {
    %norm1_weight = graph.param "norm1.weight" normal(0.963, 0.182) frozen : !norm1_weight
    %norm1_bias = graph.param "norm1.bias" normal(0.0244, 0.138) frozen : !norm1_weight
    %self_attn_in_proj_weight = graph.param "self_attn.in_proj_weight" normal(0.0, 0.171) stored [[0, 1, 2], [3]] frozen : !self_attn_in_proj_weight
    %self_attn_in_proj_bias = graph.param "self_attn.in_proj_bias" normal(0.0, 0.169) stored [[0, 1, 2]] frozen : !self_attn_in_proj_bias
    %self_attn_out_proj_weight = graph.param "self_attn.out_proj.weight" normal(0.0, 0.167) stored [[0], [1, 2]] frozen : !self_attn_out_proj_weight
    %self_attn_out_proj_bias = graph.param "self_attn.out_proj.bias" normal(-0.0261, 0.182) frozen : !norm1_weight
    %norm2_weight = graph.param "norm2.weight" normal(1.09, 0.205) frozen : !norm1_weight
    %norm2_bias = graph.param "norm2.bias" normal(0.0408, 0.141) frozen : !norm1_weight
    %linear1_weight = graph.param "linear1.weight" normal(0.0, 0.168) frozen : !linear1_weight
    %linear1_bias = graph.param "linear1.bias" normal(0.0471, 0.172) frozen : !linear1_bias
    %linear2_weight = graph.param "linear2.weight" normal(0.0, 0.168) frozen : !linear2_weight
    %linear2_bias = graph.param "linear2.bias" normal(-0.0579, 0.169) frozen : !norm1_weight
    %norm1 = graph.layer_norm %x, %norm1_weight, %norm1_bias : (!x_2, !norm1_weight, !norm1_weight) -> !x_2
    %self_attn = graph.linear %norm1, %self_attn_in_proj_weight, %self_attn_in_proj_bias transposed : (!x_2, !self_attn_in_proj_weight, !self_attn_in_proj_bias) -> !self_attn_3
    %part, %part_2, %part_3 = graph.unstack %self_attn dim 2 : !self_attn_3 -> !part_2
    %heads = graph.attention %part, %part_2, %part_3 causal : (!part_2, !part_2, !part_2) -> !part_2
    %self_attn_2 = graph.linear %heads, %self_attn_out_proj_weight, %self_attn_out_proj_bias contract 2 transposed : (!part_2, !self_attn_out_proj_weight, !norm1_weight) -> !x_2
    %sum = graph.add %x, %self_attn_2 : (!x_2, !x_2) -> !x_2
    %norm2 = graph.layer_norm %sum, %norm2_weight, %norm2_bias : (!x_2, !norm1_weight, !norm1_weight) -> !x_2
    %linear1 = graph.linear %norm2, %linear1_weight, %linear1_bias transposed : (!x_2, !linear1_weight, !linear1_bias) -> !linear1_2
    %active = graph.gelu erf %linear1 : !linear1_2
    %linear2 = graph.linear %active, %linear2_weight, %linear2_bias transposed : (!linear1_2, !linear2_weight, !norm1_weight) -> !x_2
    %sum_2 = graph.add %sum, %linear2 : (!x_2, !x_2) -> !x_2
    graph.return %sum_2 : !x_2
  }

  graph.func @loss(%images: !images, %tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %patches_weight = graph.param "patches.weight" normal(0.0, 0.173) frozen : !patches_weight
    %patches_bias = graph.param "patches.bias" normal(-0.0542, 0.131) frozen : !norm1_weight
    %patches = graph.conv2d %images, %patches_weight, %patches_bias stride [4, 4] : (!images, !patches_weight, !norm1_weight) -> !x
    %layers = graph.repeat 2 @block(%patches) under "encoder.layers.{}" : (!x) -> !x
    %projector_0_weight = graph.param "projector.0.weight" normal(0.0183, 0.168) decay : !linear1_weight
    %projector_0_bias = graph.param "projector.0.bias" normal(0.0499, 0.173) : !linear1_bias
    %projector_2_weight = graph.param "projector.2.weight" normal(-0.0174, 0.17) decay : !linear2_weight
    %projector_2_bias = graph.param "projector.2.bias" normal(0.0, 0.199) : !norm1_weight
    %words_weight = graph.param "words.weight" normal(0.0, 0.174) frozen : !words_weight
    %turned = graph.transpose %layers by [0, 2, 3, 1] : !x -> !turned
    %linear = graph.linear %turned, %projector_0_weight, %projector_0_bias transposed : (!turned, !linear1_weight, !linear1_bias) -> !linear1
    %active = graph.gelu erf %linear : !linear1
    %linear_2 = graph.linear %active, %projector_2_weight, %projector_2_bias transposed : (!linear1, !linear2_weight, !norm1_weight) -> !turned
    %words = graph.embedding %words_weight, %tokens : (!words_weight, !tokens) -> !words
    %shaped = graph.reshape %linear_2 : !turned -> !self_attn_2
    %joined = graph.concat %shaped, %words dim 1 : (!self_attn_2, !words) -> !x_2
    %layers_2 = graph.repeat 2 @block_2(%joined) under "decoder.layers.{}" : (!x_2) -> !x_2
    %head_weight = graph.param "head.weight" normal(0.0, 0.171) frozen : !words_weight
    %part = graph.slice %layers_2 dim 1 start 4 size 5 : !x_2 -> !words
    %head = graph.linear %part, %head_weight transposed : (!words, !words_weight) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 mean : (!head, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
