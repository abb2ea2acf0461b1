// Written by dtc.export.
!x = tensor<?x16x24xf32>
!ln_1_weight = tensor<24xf32>
!attn_c_attn_weight = tensor<24x3x3x8xf32>
!attn_c_attn_bias = tensor<3x3x8xf32>
!attn_c_proj_weight = tensor<3x8x24xf32>
!mlp_c_fc_weight = tensor<24x96xf32>
!mlp_c_fc_bias = tensor<96xf32>
!mlp_c_proj_weight = tensor<96x24xf32>
!c_attn = tensor<?x16x3x3x8xf32>
!part = tensor<?x16x3x8xf32>
!c_fc = tensor<?x16x96xf32>
!tokens = tensor<?x16xi32>
!transformer_wte_weight = tensor<61x24xf32>
!transformer_wpe_weight = tensor<32x24xf32>
!part_2 = tensor<16x24xf32>
!lm_head = tensor<?x16x61xf32>

module @causallanguagemodel attributes {graph.sequence_length = 16 : i64, graph.tied = "{\"lm_head.weight\": \"transformer.wte.weight\"}"} {
  graph.func private @block(%x: !x) -> !x {
    %ln_1_weight = graph.param "ln_1.weight" normal(1.02, 0.236) : !ln_1_weight
    %ln_1_bias = graph.param "ln_1.bias" normal(-0.0407, 0.182) : !ln_1_weight
    %attn_c_attn_weight = graph.param "attn.c_attn.weight" normal(0.0, 0.171) stored [[0], [1, 2, 3]] decay : !attn_c_attn_weight
    %attn_c_attn_bias = graph.param "attn.c_attn.bias" normal(0.0, 0.163) stored [[0, 1, 2]] : !attn_c_attn_bias
    %attn_c_proj_weight = graph.param "attn.c_proj.weight" normal(0.0, 0.172) stored [[0, 1], [2]] decay : !attn_c_proj_weight
    %attn_c_proj_bias = graph.param "attn.c_proj.bias" normal(0.0171, 0.165) : !ln_1_weight
    %ln_2_weight = graph.param "ln_2.weight" normal(0.983, 0.213) : !ln_1_weight
    %ln_2_bias = graph.param "ln_2.bias" normal(0.0748, 0.147) : !ln_1_weight
    %mlp_c_fc_weight = graph.param "mlp.c_fc.weight" normal(0.0, 0.174) decay : !mlp_c_fc_weight
    %mlp_c_fc_bias = graph.param "mlp.c_fc.bias" normal(-0.0178, 0.169) : !mlp_c_fc_bias
    %mlp_c_proj_weight = graph.param "mlp.c_proj.weight" normal(0.0, 0.172) decay : !mlp_c_proj_weight
    %mlp_c_proj_bias = graph.param "mlp.c_proj.bias" normal(-0.0278, 0.171) : !ln_1_weight
    %ln_1 = graph.layer_norm %x, %ln_1_weight, %ln_1_bias : (!x, !ln_1_weight, !ln_1_weight) -> !x
    %c_attn = graph.linear %ln_1, %attn_c_attn_weight, %attn_c_attn_bias : (!x, !attn_c_attn_weight, !attn_c_attn_bias) -> !c_attn
    %part, %part_2, %part_3 = graph.unstack %c_attn dim 2 : !c_attn -> !part
    %heads = graph.attention %part, %part_2, %part_3 causal : (!part, !part, !part) -> !part
    %c_proj = graph.linear %heads, %attn_c_proj_weight, %attn_c_proj_bias contract 2 : (!part, !attn_c_proj_weight, !ln_1_weight) -> !x
    %sum = graph.add %x, %c_proj : (!x, !x) -> !x
    %ln_2 = graph.layer_norm %sum, %ln_2_weight, %ln_2_bias : (!x, !ln_1_weight, !ln_1_weight) -> !x
    %c_fc = graph.linear %ln_2, %mlp_c_fc_weight, %mlp_c_fc_bias : (!x, !mlp_c_fc_weight, !mlp_c_fc_bias) -> !c_fc
    %active = graph.gelu tanh %c_fc : !c_fc
    %c_proj_2 = graph.linear %active, %mlp_c_proj_weight, %mlp_c_proj_bias : (!c_fc, !mlp_c_proj_weight, !ln_1_weight) -> !x
    %sum_2 = graph.add %sum, %c_proj_2 : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %transformer_wte_weight = graph.param "transformer.wte.weight" normal(0.0, 0.176) decay : !transformer_wte_weight
    %transformer_wpe_weight = graph.param "transformer.wpe.weight" normal(0.0, 0.171) decay : !transformer_wpe_weight
    %part = graph.slice %transformer_wpe_weight dim 0 start 0 size 16 : !transformer_wpe_weight -> !part_2
    %wte = graph.embedding %transformer_wte_weight, %tokens : (!transformer_wte_weight, !tokens) -> !x
    %sum = graph.add %wte, %part : (!x, !part_2) -> !x
    %layers = graph.repeat 2 @block(%sum) under "transformer.h.{}" : (!x) -> !x
    %transformer_ln_f_weight = graph.param "transformer.ln_f.weight" normal(0.956, 0.262) : !ln_1_weight
    %transformer_ln_f_bias = graph.param "transformer.ln_f.bias" normal(0.0, 0.188) : !ln_1_weight
    %ln_f = graph.layer_norm %layers, %transformer_ln_f_weight, %transformer_ln_f_bias : (!x, !ln_1_weight, !ln_1_weight) -> !x
    %lm_head = graph.linear %ln_f, %transformer_wte_weight transposed : (!x, !transformer_wte_weight) -> !lm_head
    %loss = graph.cross_entropy %lm_head, %targets ignoring -100 mean : (!lm_head, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
