// Mixtral 8x7B (Jiang et al. 2024, arXiv:2401.04088), as models/configs/mixtral-8x7b.json; sizes to change are in the types.
!hidden = tensor<?x32768x4096xf32> // sequences of 32768, 4096 wide
!uneven = tensor<?xf32> // the loss of uneven use of experts, by sample
!angles = tensor<32768x64xf32>
!width = tensor<4096xf32>
!q_proj = tensor<32x128x4096xf32> // 32 heads of 128
!kv_proj = tensor<8x128x4096xf32> // 8 of them for keys and values
!o_proj = tensor<4096x32x128xf32>
!gate = tensor<8x4096xf32> // 8 experts
!w1 = tensor<8x14336x4096xf32> // 14336 wide inside
!w2 = tensor<8x4096x14336xf32>
!heads = tensor<?x32768x32x128xf32>
!kv_heads = tensor<?x32768x8x128xf32>
!scores = tensor<?x32768x8xf32>
!weights = tensor<?x32768x2xf32> // of the 2 experts that a token goes to
!top = tensor<?x32768x2xi32>
!load = tensor<?x8xf32>
!rows = tensor<8x?x8192x4096xf32> // of each expert: its share of the tokens, no more
!gate_rows = tensor<8x?x8192x14336xf32>
!tokens = tensor<?x32768xi32>
!words = tensor<32000x4096xf32> // 32000 words
!logits = tensor<?x32768x32000xf32>

module @mixtral attributes {graph.sequence_length = 32768 : i64} {
  graph.func private @block(%x: !hidden, %uneven: !uneven, %cos: !angles, %sin: !angles) -> (!hidden, !uneven) {
    %input_norm = graph.param "input_layernorm.weight" ones : !width
    %q_proj = graph.param "self_attn.q_proj.weight" normal(0.0, 0.02) stored [[0, 1], [2]] decay : !q_proj
    %k_proj = graph.param "self_attn.k_proj.weight" normal(0.0, 0.02) stored [[0, 1], [2]] decay : !kv_proj
    %v_proj = graph.param "self_attn.v_proj.weight" normal(0.0, 0.02) stored [[0, 1], [2]] decay : !kv_proj
    %o_proj = graph.param "self_attn.o_proj.weight" normal(0.0, 0.02) stored [[0], [1, 2]] decay : !o_proj
    %post_norm = graph.param "post_attention_layernorm.weight" ones : !width
    %gate = graph.param "block_sparse_moe.gate.weight" normal(0.0, 0.02) decay : !gate
    %w1 = graph.param "block_sparse_moe.experts.*.w1.weight" normal(0.0, 0.02) decay : !w1
    %w2 = graph.param "block_sparse_moe.experts.*.w2.weight" normal(0.0, 0.02) decay : !w2
    %w3 = graph.param "block_sparse_moe.experts.*.w3.weight" normal(0.0, 0.02) decay : !w1
    %normed = graph.rms_norm %x, %input_norm : (!hidden, !width) -> !hidden
    %raw_q = graph.linear %normed, %q_proj transposed : (!hidden, !q_proj) -> !heads
    %raw_k = graph.linear %normed, %k_proj transposed : (!hidden, !kv_proj) -> !kv_heads
    %v = graph.linear %normed, %v_proj transposed : (!hidden, !kv_proj) -> !kv_heads
    %q = graph.rotary %raw_q, %cos, %sin : (!heads, !angles, !angles) -> !heads
    %k = graph.rotary %raw_k, %cos, %sin : (!kv_heads, !angles, !angles) -> !kv_heads
    %heads = graph.attention %q, %k, %v causal : (!heads, !kv_heads, !kv_heads) -> !heads
    %attended = graph.linear %heads, %o_proj contract 2 transposed : (!heads, !o_proj) -> !hidden
    %middle = graph.add %x, %attended : (!hidden, !hidden) -> !hidden
    %normed_2 = graph.rms_norm %middle, %post_norm : (!hidden, !width) -> !hidden
    %scores = graph.linear %normed_2, %gate transposed : (!hidden, !gate) -> !scores
    %weights, %experts, %slots, %load, %importance = graph.moe_router %scores top 2 normalised group 512
        : (!scores) -> (!weights, !top, !top, !load, !load)
    %rows = graph.moe_dispatch %normed_2 to %experts at %slots group 512 capacity 1.0 : (!hidden, !top, !top) -> !rows
    %gate_rows = graph.expert_linear %rows, %w1 transposed : (!rows, !w1) -> !gate_rows
    %open = graph.silu %gate_rows : !gate_rows
    %up = graph.expert_linear %rows, %w3 transposed : (!rows, !w1) -> !gate_rows
    %gated = graph.multiply %open, %up : (!gate_rows, !gate_rows) -> !gate_rows
    %balance = graph.moe_balance_loss %load, %importance tokens 32768 coefficient 0.02 : (!load, !load) -> !uneven
    %down = graph.expert_linear %gated, %w2 transposed : (!gate_rows, !w2) -> !rows
    %mixed = graph.moe_combine %down from %experts at %slots weighted %weights group 512 capacity 1.0
        : (!rows, !top, !top, !weights) -> !hidden
    %out = graph.add %middle, %mixed : (!hidden, !hidden) -> !hidden
    %sum = graph.add %uneven, %balance : (!uneven, !uneven) -> !uneven
    graph.return %out, %sum : !hidden, !uneven
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %embed_tokens = graph.param "model.embed_tokens.weight" normal(0.0, 0.02) decay : !words
    %x = graph.embedding %embed_tokens, %tokens : (!words, !tokens) -> !hidden
    %even = graph.constant 0.0 : !uneven
    %cos, %sin = graph.rotary_table base 1000000.0 : !angles, !angles
    %layers, %uneven = graph.repeat 32 @block(%x, %even, %cos, %sin) carrying 2 under "model.layers.{}"
        : (!hidden, !uneven, !angles, !angles) -> (!hidden, !uneven)
    %norm = graph.param "model.norm.weight" ones : !width
    %normed = graph.rms_norm %layers, %norm : (!hidden, !width) -> !hidden
    %lm_head = graph.param "lm_head.weight" normal(0.0, 0.02) decay : !words
    %logits = graph.linear %normed, %lm_head transposed : (!hidden, !words) -> !logits
    %loss = graph.cross_entropy %logits, %targets ignoring -100 mean : (!logits, !tokens) -> tensor<f32>
    %mean = graph.reduce mean %uneven dims [0] : !uneven -> tensor<f32>
    %per_layer = graph.scale %mean by 0.03125 : tensor<f32>
    %total = graph.add %loss, %per_layer : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.return %total : tensor<f32>
  }
}
