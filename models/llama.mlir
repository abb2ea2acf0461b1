// Llama 3 8B (Touvron et al. 2023, arXiv:2302.13971), as models/configs/llama-3-8b.json: sequences of 8192 tokens, 32 layers.
// Sizes to change: the batch is "?", the layers are the number in graph.repeat, the others are in the types.
!hidden = tensor<?x8192x4096xf32> // 4096 wide
!angles = tensor<8192x64xf32> // of rotary position embedding, for half of a head
!width = tensor<4096xf32>
!q_proj = tensor<32x128x4096xf32> // 32 heads of 128
!kv_proj = tensor<8x128x4096xf32> // 8 of them for keys and values
!o_proj = tensor<4096x32x128xf32>
!up_proj = tensor<14336x4096xf32> // 14336 wide inside
!down_proj = tensor<4096x14336xf32>
!heads = tensor<?x8192x32x128xf32>
!kv_heads = tensor<?x8192x8x128xf32>
!inner = tensor<?x8192x14336xf32>
!tokens = tensor<?x8192xi32>
!words = tensor<128256x4096xf32> // 128256 words
!logits = tensor<?x8192x128256xf32>

module @llama attributes {graph.sequence_length = 8192 : i64} {
  graph.func private @block(%x: !hidden, %cos: !angles, %sin: !angles) -> !hidden {
    %input_norm = graph.param "input_layernorm.weight" ones : !width
    %q_proj = graph.param "self_attn.q_proj.weight" normal(0.0, 0.02) stored [[0, 1], [2]] decay : !q_proj
    %k_proj = graph.param "self_attn.k_proj.weight" normal(0.0, 0.02) stored [[0, 1], [2]] decay : !kv_proj
    %v_proj = graph.param "self_attn.v_proj.weight" normal(0.0, 0.02) stored [[0, 1], [2]] decay : !kv_proj
    %o_proj = graph.param "self_attn.o_proj.weight" normal(0.0, 0.02) stored [[0], [1, 2]] decay : !o_proj
    %post_norm = graph.param "post_attention_layernorm.weight" ones : !width
    %gate_proj = graph.param "mlp.gate_proj.weight" normal(0.0, 0.02) decay : !up_proj
    %up_proj = graph.param "mlp.up_proj.weight" normal(0.0, 0.02) decay : !up_proj
    %down_proj = graph.param "mlp.down_proj.weight" normal(0.0, 0.02) decay : !down_proj
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
    %gate = graph.linear %normed_2, %gate_proj transposed : (!hidden, !up_proj) -> !inner
    %up = graph.linear %normed_2, %up_proj transposed : (!hidden, !up_proj) -> !inner
    %open = graph.silu %gate : !inner
    %gated = graph.multiply %open, %up : (!inner, !inner) -> !inner
    %mlp = graph.linear %gated, %down_proj transposed : (!inner, !down_proj) -> !hidden
    %out = graph.add %middle, %mlp : (!hidden, !hidden) -> !hidden
    graph.return %out : !hidden
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %embed_tokens = graph.param "model.embed_tokens.weight" normal(0.0, 0.02) decay : !words
    %x = graph.embedding %embed_tokens, %tokens : (!words, !tokens) -> !hidden
    %cos, %sin = graph.rotary_table base 500000.0 : !angles, !angles
    %layers = graph.repeat 32 @block(%x, %cos, %sin) under "model.layers.{}" : (!hidden, !angles, !angles) -> !hidden
    %norm = graph.param "model.norm.weight" ones : !width
    %normed = graph.rms_norm %layers, %norm : (!hidden, !width) -> !hidden
    %lm_head = graph.param "lm_head.weight" normal(0.0, 0.02) decay : !words
    %logits = graph.linear %normed, %lm_head transposed : (!hidden, !words) -> !logits
    %loss = graph.cross_entropy %logits, %targets ignoring -100 mean : (!logits, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
