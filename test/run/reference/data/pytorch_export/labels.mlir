// Written by dtc.export.
!x = tensor<?x16x24xf32>
!cos = tensor<16x3xf32>
!input_layernorm_weight = tensor<24xf32>
!self_attn_q_proj_weight = tensor<4x6x24xf32>
!self_attn_o_proj_weight = tensor<24x4x6xf32>
!mlp_gate_proj_weight = tensor<40x24xf32>
!mlp_down_proj_weight = tensor<24x40xf32>
!q_proj = tensor<?x16x4x6xf32>
!gate_proj = tensor<?x16x40xf32>
!input_ids = tensor<?x16xi32>
!model_embed_tokens_weight = tensor<61x24xf32>
!lm_head = tensor<?x16x61xf32>
!part = tensor<?x15x61xf32>
!part_2 = tensor<?x15xi32>

module @llamaforcausallm attributes {graph.sequence_length = 16 : i64} {
  graph.func private @block(%x: !x, %cos: !cos, %sin: !cos) -> !x {
    %input_layernorm_weight = graph.param "input_layernorm.weight" normal(0.991, 0.198) : !input_layernorm_weight
    %self_attn_q_proj_weight = graph.param "self_attn.q_proj.weight" normal(0.0, 0.173) stored [[0, 1], [2]] decay : !self_attn_q_proj_weight
    %self_attn_k_proj_weight = graph.param "self_attn.k_proj.weight" normal(0.0, 0.169) stored [[0, 1], [2]] decay : !self_attn_q_proj_weight
    %self_attn_v_proj_weight = graph.param "self_attn.v_proj.weight" normal(0.0, 0.175) stored [[0, 1], [2]] decay : !self_attn_q_proj_weight
    %self_attn_o_proj_weight = graph.param "self_attn.o_proj.weight" normal(0.0, 0.171) stored [[0], [1, 2]] decay : !self_attn_o_proj_weight
    %post_attention_layernorm_weight = graph.param "post_attention_layernorm.weight" normal(0.961, 0.237) : !input_layernorm_weight
    %mlp_gate_proj_weight = graph.param "mlp.gate_proj.weight" normal(0.0, 0.175) decay : !mlp_gate_proj_weight
    %mlp_up_proj_weight = graph.param "mlp.up_proj.weight" normal(0.0, 0.173) decay : !mlp_gate_proj_weight
    %mlp_down_proj_weight = graph.param "mlp.down_proj.weight" normal(0.0, 0.169) decay : !mlp_down_proj_weight
    %input_layernorm = graph.rms_norm %x, %input_layernorm_weight epsilon 1.0e-06 : (!x, !input_layernorm_weight) -> !x
    %q_proj = graph.linear %input_layernorm, %self_attn_q_proj_weight transposed : (!x, !self_attn_q_proj_weight) -> !q_proj
    %k_proj = graph.linear %input_layernorm, %self_attn_k_proj_weight transposed : (!x, !self_attn_q_proj_weight) -> !q_proj
    %v_proj = graph.linear %input_layernorm, %self_attn_v_proj_weight transposed : (!x, !self_attn_q_proj_weight) -> !q_proj
    %rotary = graph.rotary %q_proj, %cos, %sin : (!q_proj, !cos, !cos) -> !q_proj
    %rotary_2 = graph.rotary %k_proj, %cos, %sin : (!q_proj, !cos, !cos) -> !q_proj
    %heads = graph.attention %rotary, %rotary_2, %v_proj causal : (!q_proj, !q_proj, !q_proj) -> !q_proj
    %o_proj = graph.linear %heads, %self_attn_o_proj_weight contract 2 transposed : (!q_proj, !self_attn_o_proj_weight) -> !x
    %sum = graph.add %x, %o_proj : (!x, !x) -> !x
    %post_attention_layernorm = graph.rms_norm %sum, %post_attention_layernorm_weight epsilon 1.0e-06 : (!x, !input_layernorm_weight) -> !x
    %gate_proj = graph.linear %post_attention_layernorm, %mlp_gate_proj_weight transposed : (!x, !mlp_gate_proj_weight) -> !gate_proj
    %up_proj = graph.linear %post_attention_layernorm, %mlp_up_proj_weight transposed : (!x, !mlp_gate_proj_weight) -> !gate_proj
    %active = graph.silu %gate_proj : !gate_proj
    %product = graph.multiply %active, %up_proj : (!gate_proj, !gate_proj) -> !gate_proj
    %down_proj = graph.linear %product, %mlp_down_proj_weight transposed : (!gate_proj, !mlp_down_proj_weight) -> !x
    %sum_2 = graph.add %sum, %down_proj : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%input_ids: !input_ids, %labels: !input_ids) -> tensor<f32> {
    %model_embed_tokens_weight = graph.param "model.embed_tokens.weight" normal(0.0, 0.173) decay : !model_embed_tokens_weight
    %embed_tokens = graph.embedding %model_embed_tokens_weight, %input_ids : (!model_embed_tokens_weight, !input_ids) -> !x
    %cos, %sin = graph.rotary_table base 10000.0 : !cos, !cos
    %layers = graph.repeat 2 @block(%embed_tokens, %cos, %sin) under "model.layers.{}" : (!x, !cos, !cos) -> !x
    %model_norm_weight = graph.param "model.norm.weight" normal(0.963, 0.251) : !input_layernorm_weight
    %lm_head_weight = graph.param "lm_head.weight" normal(0.0, 0.171) decay : !model_embed_tokens_weight
    %norm = graph.rms_norm %layers, %model_norm_weight epsilon 1.0e-06 : (!x, !input_layernorm_weight) -> !x
    %lm_head = graph.linear %norm, %lm_head_weight transposed : (!x, !model_embed_tokens_weight) -> !lm_head
    %part = graph.slice %lm_head dim 1 start 0 size 15 : !lm_head -> !part
    %part_2 = graph.slice %labels dim 1 start 1 size 15 : !input_ids -> !part_2
    %loss = graph.cross_entropy %part, %part_2 ignoring -100 mean : (!part, !part_2) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
