// Written by dtc.export.
!x = tensor<?x16x24xf32>
!cos = tensor<16x4xf32>
!q_proj_weight = tensor<4x8x24xf32>
!q_proj_bias = tensor<4x8xf32>
!k_proj_weight = tensor<2x8x24xf32>
!k_proj_bias = tensor<2x8xf32>
!sinks = tensor<4xf32>
!o_proj_weight = tensor<24x4x8xf32>
!o_proj_bias = tensor<24xf32>
!q_proj = tensor<?x16x4x8xf32>
!k_proj = tensor<?x16x2x8xf32>
!tokens = tensor<?x16xi32>
!embed_weight = tensor<61x24xf32>
!head_bias = tensor<61xf32>
!head = tensor<?x16x61xf32>

module @ossattention attributes {graph.sequence_length = 16 : i64} {
  graph.func private @block(%x: !x, %cos: !cos, %sin: !cos) -> !x {
    %q_proj_weight = graph.param "layers.{0:2}.q_proj.weight" normal(0.0, 0.172) stored [[0, 1], [2]] decay : !q_proj_weight
    %q_proj_bias = graph.param "layers.{0:2}.q_proj.bias" normal(0.0345, 0.17) stored [[0, 1]] : !q_proj_bias
    %k_proj_weight = graph.param "layers.{0:2}.k_proj.weight" normal(0.0, 0.174) stored [[0, 1], [2]] decay : !k_proj_weight
    %k_proj_bias = graph.param "layers.{0:2}.k_proj.bias" normal(-0.0221, 0.18) stored [[0, 1]] : !k_proj_bias
    %v_proj_weight = graph.param "layers.{0:2}.v_proj.weight" normal(0.0, 0.176) stored [[0, 1], [2]] decay : !k_proj_weight
    %v_proj_bias = graph.param "layers.{0:2}.v_proj.bias" normal(0.0, 0.197) stored [[0, 1]] : !k_proj_bias
    %sinks = graph.param "layers.{0:2}.sinks" normal(0.109, 0.171) : !sinks
    %o_proj_weight = graph.param "layers.{0:2}.o_proj.weight" normal(0.0, 0.171) stored [[0], [1, 2]] decay : !o_proj_weight
    %o_proj_bias = graph.param "layers.{0:2}.o_proj.bias" normal(0.0229, 0.176) : !o_proj_bias
    %q_proj_weight_2 = graph.param "layers.{1:2}.q_proj.weight" normal(0.0, 0.171) stored [[0, 1], [2]] decay : !q_proj_weight
    %q_proj_bias_2 = graph.param "layers.{1:2}.q_proj.bias" normal(0.0402, 0.175) stored [[0, 1]] : !q_proj_bias
    %k_proj_weight_2 = graph.param "layers.{1:2}.k_proj.weight" normal(0.0, 0.174) stored [[0, 1], [2]] decay : !k_proj_weight
    %k_proj_bias_2 = graph.param "layers.{1:2}.k_proj.bias" normal(0.0, 0.148) stored [[0, 1]] : !k_proj_bias
    %v_proj_weight_2 = graph.param "layers.{1:2}.v_proj.weight" normal(0.0, 0.173) stored [[0, 1], [2]] decay : !k_proj_weight
    %v_proj_bias_2 = graph.param "layers.{1:2}.v_proj.bias" normal(0.0, 0.192) stored [[0, 1]] : !k_proj_bias
    %sinks_2 = graph.param "layers.{1:2}.sinks" normal(0.0, 0.159) : !sinks
    %o_proj_weight_2 = graph.param "layers.{1:2}.o_proj.weight" normal(0.0, 0.171) stored [[0], [1, 2]] decay : !o_proj_weight
    %o_proj_bias_2 = graph.param "layers.{1:2}.o_proj.bias" normal(-0.0274, 0.173) : !o_proj_bias
    %q_proj = graph.linear %x, %q_proj_weight, %q_proj_bias transposed : (!x, !q_proj_weight, !q_proj_bias) -> !q_proj
    %k_proj = graph.linear %x, %k_proj_weight, %k_proj_bias transposed : (!x, !k_proj_weight, !k_proj_bias) -> !k_proj
    %v_proj = graph.linear %x, %v_proj_weight, %v_proj_bias transposed : (!x, !k_proj_weight, !k_proj_bias) -> !k_proj
    %rotary = graph.rotary %q_proj, %cos, %sin : (!q_proj, !cos, !cos) -> !q_proj
    %rotary_2 = graph.rotary %k_proj, %cos, %sin : (!k_proj, !cos, !cos) -> !k_proj
    %heads = graph.attention %rotary, %rotary_2, %v_proj sinks %sinks causal sliding 5 : (!q_proj, !k_proj, !k_proj, !sinks) -> !q_proj
    %o_proj = graph.linear %heads, %o_proj_weight, %o_proj_bias contract 2 transposed : (!q_proj, !o_proj_weight, !o_proj_bias) -> !x
    %sum = graph.add %x, %o_proj : (!x, !x) -> !x
    %q_proj_2 = graph.linear %sum, %q_proj_weight_2, %q_proj_bias_2 transposed : (!x, !q_proj_weight, !q_proj_bias) -> !q_proj
    %k_proj_2 = graph.linear %sum, %k_proj_weight_2, %k_proj_bias_2 transposed : (!x, !k_proj_weight, !k_proj_bias) -> !k_proj
    %v_proj_2 = graph.linear %sum, %v_proj_weight_2, %v_proj_bias_2 transposed : (!x, !k_proj_weight, !k_proj_bias) -> !k_proj
    %rotary_3 = graph.rotary %q_proj_2, %cos, %sin : (!q_proj, !cos, !cos) -> !q_proj
    %rotary_4 = graph.rotary %k_proj_2, %cos, %sin : (!k_proj, !cos, !cos) -> !k_proj
    %heads_2 = graph.attention %rotary_3, %rotary_4, %v_proj_2 sinks %sinks_2 causal : (!q_proj, !k_proj, !k_proj, !sinks) -> !q_proj
    %o_proj_2 = graph.linear %heads_2, %o_proj_weight_2, %o_proj_bias_2 contract 2 transposed : (!q_proj, !o_proj_weight, !o_proj_bias) -> !x
    %sum_2 = graph.add %sum, %o_proj_2 : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %embed_weight = graph.param "embed.weight" normal(0.0, 0.173) decay : !embed_weight
    %embed = graph.embedding %embed_weight, %tokens : (!embed_weight, !tokens) -> !x
    %cos, %sin = graph.rotary_table base 10000.0 : !cos, !cos
    %layers = graph.repeat 2 @block(%embed, %cos, %sin) : (!x, !cos, !cos) -> !x
    %head_weight = graph.param "head.weight" normal(0.0, 0.172) decay : !embed_weight
    %head_bias = graph.param "head.bias" normal(0.0, 0.162) : !head_bias
    %head = graph.linear %layers, %head_weight, %head_bias transposed : (!x, !embed_weight, !head_bias) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 mean : (!head, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
