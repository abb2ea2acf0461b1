// Written by dtc.export.
!tokens = tensor<?x16xi32>
!embed_weight = tensor<61x24xf32>
!layers_0_q_proj_weight = tensor<4x8x24xf32>
!layers_0_q_proj_bias = tensor<4x8xf32>
!layers_0_k_proj_weight = tensor<2x8x24xf32>
!layers_0_k_proj_bias = tensor<2x8xf32>
!layers_0_sinks = tensor<4xf32>
!layers_0_o_proj_weight = tensor<24x4x8xf32>
!layers_0_o_proj_bias = tensor<24xf32>
!head_bias = tensor<61xf32>
!embed = tensor<?x16x24xf32>
!q_proj = tensor<?x16x4x8xf32>
!k_proj = tensor<?x16x2x8xf32>
!cos = tensor<16x4xf32>
!head = tensor<?x16x61xf32>

module @ossattention attributes {graph.sequence_length = 16 : i64} {
  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %embed_weight = graph.param "embed.weight" normal(0.0, 0.173) decay : !embed_weight
    %layers_0_q_proj_weight = graph.param "layers.0.q_proj.weight" normal(0.0, 0.171) stored [[0, 1], [2]] decay : !layers_0_q_proj_weight
    %layers_0_q_proj_bias = graph.param "layers.0.q_proj.bias" normal(0.0, 0.175) stored [[0, 1]] : !layers_0_q_proj_bias
    %layers_0_k_proj_weight = graph.param "layers.0.k_proj.weight" normal(0.0, 0.176) stored [[0, 1], [2]] decay : !layers_0_k_proj_weight
    %layers_0_k_proj_bias = graph.param "layers.0.k_proj.bias" normal(0.0, 0.172) stored [[0, 1]] : !layers_0_k_proj_bias
    %layers_0_v_proj_weight = graph.param "layers.0.v_proj.weight" normal(0.0, 0.173) stored [[0, 1], [2]] decay : !layers_0_k_proj_weight
    %layers_0_v_proj_bias = graph.param "layers.0.v_proj.bias" normal(-0.0459, 0.209) stored [[0, 1]] : !layers_0_k_proj_bias
    %layers_0_sinks = graph.param "layers.0.sinks" normal(0.198, 0.083) : !layers_0_sinks
    %layers_0_o_proj_weight = graph.param "layers.0.o_proj.weight" normal(0.0, 0.17) stored [[0], [1, 2]] decay : !layers_0_o_proj_weight
    %layers_0_o_proj_bias = graph.param "layers.0.o_proj.bias" normal(0.0, 0.177) : !layers_0_o_proj_bias
    %layers_1_q_proj_weight = graph.param "layers.1.q_proj.weight" normal(0.0, 0.172) stored [[0, 1], [2]] decay : !layers_0_q_proj_weight
    %layers_1_q_proj_bias = graph.param "layers.1.q_proj.bias" normal(0.0, 0.174) stored [[0, 1]] : !layers_0_q_proj_bias
    %layers_1_k_proj_weight = graph.param "layers.1.k_proj.weight" normal(0.0, 0.175) stored [[0, 1], [2]] decay : !layers_0_k_proj_weight
    %layers_1_k_proj_bias = graph.param "layers.1.k_proj.bias" normal(0.0, 0.163) stored [[0, 1]] : !layers_0_k_proj_bias
    %layers_1_v_proj_weight = graph.param "layers.1.v_proj.weight" normal(0.0, 0.174) stored [[0, 1], [2]] decay : !layers_0_k_proj_weight
    %layers_1_v_proj_bias = graph.param "layers.1.v_proj.bias" normal(-0.0413, 0.17) stored [[0, 1]] : !layers_0_k_proj_bias
    %layers_1_sinks = graph.param "layers.1.sinks" normal(-0.0288, 0.161) : !layers_0_sinks
    %layers_1_o_proj_weight = graph.param "layers.1.o_proj.weight" normal(0.0, 0.174) stored [[0], [1, 2]] decay : !layers_0_o_proj_weight
    %layers_1_o_proj_bias = graph.param "layers.1.o_proj.bias" normal(-0.0228, 0.189) : !layers_0_o_proj_bias
    %head_weight = graph.param "head.weight" normal(0.0, 0.172) decay : !embed_weight
    %head_bias = graph.param "head.bias" normal(0.0, 0.162) : !head_bias
    %embed = graph.embedding %embed_weight, %tokens : (!embed_weight, !tokens) -> !embed
    %q_proj = graph.linear %embed, %layers_0_q_proj_weight, %layers_0_q_proj_bias transposed : (!embed, !layers_0_q_proj_weight, !layers_0_q_proj_bias) -> !q_proj
    %k_proj = graph.linear %embed, %layers_0_k_proj_weight, %layers_0_k_proj_bias transposed : (!embed, !layers_0_k_proj_weight, !layers_0_k_proj_bias) -> !k_proj
    %v_proj = graph.linear %embed, %layers_0_v_proj_weight, %layers_0_v_proj_bias transposed : (!embed, !layers_0_k_proj_weight, !layers_0_k_proj_bias) -> !k_proj
    %cos, %sin = graph.rotary_table base 10000.0 : !cos, !cos
    %rotary = graph.rotary %q_proj, %cos, %sin : (!q_proj, !cos, !cos) -> !q_proj
    %rotary_2 = graph.rotary %k_proj, %cos, %sin : (!k_proj, !cos, !cos) -> !k_proj
    %heads = graph.attention %rotary, %rotary_2, %v_proj sinks %layers_0_sinks causal sliding 5 : (!q_proj, !k_proj, !k_proj, !layers_0_sinks) -> !q_proj
    %o_proj = graph.linear %heads, %layers_0_o_proj_weight, %layers_0_o_proj_bias contract 2 transposed : (!q_proj, !layers_0_o_proj_weight, !layers_0_o_proj_bias) -> !embed
    %sum = graph.add %embed, %o_proj : (!embed, !embed) -> !embed
    %q_proj_2 = graph.linear %sum, %layers_1_q_proj_weight, %layers_1_q_proj_bias transposed : (!embed, !layers_0_q_proj_weight, !layers_0_q_proj_bias) -> !q_proj
    %k_proj_2 = graph.linear %sum, %layers_1_k_proj_weight, %layers_1_k_proj_bias transposed : (!embed, !layers_0_k_proj_weight, !layers_0_k_proj_bias) -> !k_proj
    %v_proj_2 = graph.linear %sum, %layers_1_v_proj_weight, %layers_1_v_proj_bias transposed : (!embed, !layers_0_k_proj_weight, !layers_0_k_proj_bias) -> !k_proj
    %rotary_3 = graph.rotary %q_proj_2, %cos, %sin : (!q_proj, !cos, !cos) -> !q_proj
    %rotary_4 = graph.rotary %k_proj_2, %cos, %sin : (!k_proj, !cos, !cos) -> !k_proj
    %heads_2 = graph.attention %rotary_3, %rotary_4, %v_proj_2 sinks %layers_1_sinks causal : (!q_proj, !k_proj, !k_proj, !layers_0_sinks) -> !q_proj
    %o_proj_2 = graph.linear %heads_2, %layers_1_o_proj_weight, %layers_1_o_proj_bias contract 2 transposed : (!q_proj, !layers_0_o_proj_weight, !layers_0_o_proj_bias) -> !embed
    %sum_2 = graph.add %sum, %o_proj_2 : (!embed, !embed) -> !embed
    %head = graph.linear %sum_2, %head_weight, %head_bias transposed : (!embed, !embed_weight, !head_bias) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 mean : (!head, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
