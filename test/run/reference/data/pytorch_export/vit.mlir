// Written by dtc.export.
!x = tensor<?x5x24xf32>
!norm1_weight = tensor<24xf32>
!self_attn_in_proj_weight = tensor<3x4x6x24xf32>
!self_attn_in_proj_bias = tensor<3x4x6xf32>
!self_attn_out_proj_weight = tensor<24x4x6xf32>
!linear1_weight = tensor<48x24xf32>
!linear1_bias = tensor<48xf32>
!linear2_weight = tensor<24x48xf32>
!self_attn = tensor<?x5x3x4x6xf32>
!part = tensor<?x5x4x6xf32>
!linear1 = tensor<?x5x48xf32>
!images = tensor<?x3x8x8xf32>
!targets = tensor<?xi32>
!patches_weight = tensor<24x3x4x4xf32>
!token = tensor<1x1x24xf32>
!positions = tensor<1x5x24xf32>
!patches = tensor<?x24x2x2xf32>
!wide = tensor<?x24xf32>
!shaped_2 = tensor<?x1x24xf32>
!turned = tensor<?x2x2x24xf32>
!shaped_3 = tensor<?x4x24xf32>
!shaped_4 = tensor<5x24xf32>
!head_bias = tensor<5xf32>
!head = tensor<?x5xf32>

module @vit {
  graph.func private @block(%x: !x) -> !x {
    %norm1_weight = graph.param "norm1.weight" normal(1.01, 0.25) : !norm1_weight
    %norm1_bias = graph.param "norm1.bias" normal(-0.0478, 0.172) : !norm1_weight
    %self_attn_in_proj_weight = graph.param "self_attn.in_proj_weight" normal(0.0, 0.173) stored [[0, 1, 2], [3]] decay : !self_attn_in_proj_weight
    %self_attn_in_proj_bias = graph.param "self_attn.in_proj_bias" normal(0.0264, 0.16) stored [[0, 1, 2]] : !self_attn_in_proj_bias
    %self_attn_out_proj_weight = graph.param "self_attn.out_proj.weight" normal(0.0, 0.173) stored [[0], [1, 2]] decay : !self_attn_out_proj_weight
    %self_attn_out_proj_bias = graph.param "self_attn.out_proj.bias" normal(0.0317, 0.169) : !norm1_weight
    %norm2_weight = graph.param "norm2.weight" normal(1.02, 0.247) : !norm1_weight
    %norm2_bias = graph.param "norm2.bias" normal(0.0329, 0.163) : !norm1_weight
    %linear1_weight = graph.param "linear1.weight" normal(0.0, 0.172) decay : !linear1_weight
    %linear1_bias = graph.param "linear1.bias" normal(-0.0233, 0.185) : !linear1_bias
    %linear2_weight = graph.param "linear2.weight" normal(0.0, 0.171) decay : !linear2_weight
    %linear2_bias = graph.param "linear2.bias" normal(0.0, 0.163) : !norm1_weight
    %norm1 = graph.layer_norm %x, %norm1_weight, %norm1_bias : (!x, !norm1_weight, !norm1_weight) -> !x
    %self_attn = graph.linear %norm1, %self_attn_in_proj_weight, %self_attn_in_proj_bias transposed : (!x, !self_attn_in_proj_weight, !self_attn_in_proj_bias) -> !self_attn
    %part, %part_2, %part_3 = graph.unstack %self_attn dim 2 : !self_attn -> !part
    %heads = graph.attention %part, %part_2, %part_3 : (!part, !part, !part) -> !part
    %self_attn_2 = graph.linear %heads, %self_attn_out_proj_weight, %self_attn_out_proj_bias contract 2 transposed : (!part, !self_attn_out_proj_weight, !norm1_weight) -> !x
    %sum = graph.add %x, %self_attn_2 : (!x, !x) -> !x
    %norm2 = graph.layer_norm %sum, %norm2_weight, %norm2_bias : (!x, !norm1_weight, !norm1_weight) -> !x
    %linear1 = graph.linear %norm2, %linear1_weight, %linear1_bias transposed : (!x, !linear1_weight, !linear1_bias) -> !linear1
    %active = graph.gelu erf %linear1 : !linear1
    %linear2 = graph.linear %active, %linear2_weight, %linear2_bias transposed : (!linear1, !linear2_weight, !norm1_weight) -> !x
    %sum_2 = graph.add %sum, %linear2 : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%images: !images, %targets: !targets) -> tensor<f32> {
    %patches_weight = graph.param "patches.weight" normal(0.0, 0.176) decay : !patches_weight
    %patches_bias = graph.param "patches.bias" normal(-0.0192, 0.155) : !norm1_weight
    %token = graph.param "token" normal(0.0354, 0.179) decay : !token
    %positions = graph.param "positions" normal(0.0, 0.17) decay : !positions
    %patches = graph.conv2d %images, %patches_weight, %patches_bias stride [4, 4] : (!images, !patches_weight, !norm1_weight) -> !patches
    %shaped = graph.reshape %token : !token -> !norm1_weight
    %wide = graph.broadcast %shaped like %images : !images, dims [0] : !norm1_weight -> !wide
    %shaped_2 = graph.reshape %wide : !wide -> !shaped_2
    %turned = graph.transpose %patches by [0, 2, 3, 1] : !patches -> !turned
    %shaped_3 = graph.reshape %turned : !turned -> !shaped_3
    %joined = graph.concat %shaped_2, %shaped_3 dim 1 : (!shaped_2, !shaped_3) -> !x
    %shaped_4 = graph.reshape %positions : !positions -> !shaped_4
    %sum = graph.add %joined, %shaped_4 : (!x, !shaped_4) -> !x
    %layers = graph.repeat 2 @block(%sum) under "blocks.{}" : (!x) -> !x
    %norm_weight = graph.param "norm.weight" normal(0.989, 0.222) : !norm1_weight
    %norm_bias = graph.param "norm.bias" normal(0.0, 0.173) : !norm1_weight
    %head_weight = graph.param "head.weight" normal(0.0, 0.179) decay : !shaped_4
    %head_bias = graph.param "head.bias" normal(-0.0199, 0.0921) : !head_bias
    %norm = graph.layer_norm %layers, %norm_weight, %norm_bias : (!x, !norm1_weight, !norm1_weight) -> !x
    %part = graph.slice %norm dim 1 start 0 size 1 squeeze : !x -> !wide
    %head = graph.linear %part, %head_weight, %head_bias transposed : (!wide, !shaped_4, !head_bias) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 mean : (!head, !targets) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
