// Written by dtc.export.
!tokens = tensor<?x6xi32>
!lengths = tensor<?xi32>
!embed_weight = tensor<61x16xf32>
!qkv_weight = tensor<3x2x8x16xf32>
!qkv_bias = tensor<3x2x8xf32>
!out_weight = tensor<16x2x8xf32>
!out_bias = tensor<16xf32>
!head_weight = tensor<5x16xf32>
!head_bias = tensor<5xf32>
!embed = tensor<?x6x16xf32>
!qkv = tensor<?x6x3x2x8xf32>
!part = tensor<?x6x2x8xf32>
!part_4 = tensor<?x16xf32>
!head = tensor<?x5xf32>

module @lengths {
  graph.func @loss(%tokens: !tokens, %lengths: !lengths, %targets: !lengths) -> tensor<f32> {
    %embed_weight = graph.param "embed.weight" normal(0.0, 0.175) decay : !embed_weight
    %qkv_weight = graph.param "qkv.weight" normal(0.0, 0.176) stored [[0, 1, 2], [3]] decay : !qkv_weight
    %qkv_bias = graph.param "qkv.bias" normal(0.0, 0.18) stored [[0, 1, 2]] : !qkv_bias
    %out_weight = graph.param "out.weight" normal(0.0, 0.164) stored [[0], [1, 2]] decay : !out_weight
    %out_bias = graph.param "out.bias" normal(-0.035, 0.158) : !out_bias
    %head_weight = graph.param "head.weight" normal(0.0, 0.178) decay : !head_weight
    %head_bias = graph.param "head.bias" normal(-0.0199, 0.0921) : !head_bias
    %embed = graph.embedding %embed_weight, %tokens : (!embed_weight, !tokens) -> !embed
    %qkv = graph.linear %embed, %qkv_weight, %qkv_bias transposed : (!embed, !qkv_weight, !qkv_bias) -> !qkv
    %part, %part_2, %part_3 = graph.unstack %qkv dim 2 : !qkv -> !part
    %heads = graph.attention %part, %part_2, %part_3 lengths %lengths : (!part, !part, !part, !lengths) -> !part
    %out = graph.linear %heads, %out_weight, %out_bias contract 2 transposed : (!part, !out_weight, !out_bias) -> !embed
    %sum = graph.add %embed, %out : (!embed, !embed) -> !embed
    %part_4 = graph.slice %sum dim 1 start 0 size 1 squeeze : !embed -> !part_4
    %head = graph.linear %part_4, %head_weight, %head_bias transposed : (!part_4, !head_weight, !head_bias) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 mean : (!head, !lengths) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
