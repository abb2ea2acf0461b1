// GPT-2 (Radford et al. 2019), 124 million parameters, as models/configs/gpt2.json: sequences of 1024 tokens, 12 layers.
// Sizes to change: the batch is "?", the layers are the number in graph.repeat, the others are in the types.
!hidden = tensor<?x1024x768xf32> // 768 wide
!width = tensor<768xf32>
!c_attn = tensor<768x3x12x64xf32> // q, k and v: 12 heads of 64
!c_attn_bias = tensor<3x12x64xf32>
!proj = tensor<12x64x768xf32>
!fc = tensor<768x3072xf32> // four times as wide inside
!fc_bias = tensor<3072xf32>
!down = tensor<3072x768xf32>
!qkv = tensor<?x1024x3x12x64xf32>
!heads = tensor<?x1024x12x64xf32>
!inner = tensor<?x1024x3072xf32>
!tokens = tensor<?x1024xi32>
!wte = tensor<50257x768xf32> // 50257 words
!wpe = tensor<1024x768xf32> // at most 1024 positions
!logits = tensor<?x1024x50257xf32>

module @gpt2 attributes {graph.sequence_length = 1024 : i64} {
  graph.func private @block(%x: !hidden) -> !hidden {
    %ln_1, %ln_1_bias = graph.param "ln_1.weight" ones, "ln_1.bias" zeros : !width, !width
    %c_attn, %c_attn_bias = graph.param "attn.c_attn.weight" normal(0.0, 0.02) stored [[0], [1, 2, 3]] decay,
        "attn.c_attn.bias" zeros stored [[0, 1, 2]] : !c_attn, !c_attn_bias
    %proj, %proj_bias = graph.param "attn.c_proj.weight" normal(0.0, 0.004082482904638631) stored [[0, 1], [2]] decay,
        "attn.c_proj.bias" zeros : !proj, !width
    %ln_2, %ln_2_bias = graph.param "ln_2.weight" ones, "ln_2.bias" zeros : !width, !width
    %fc, %fc_bias = graph.param "mlp.c_fc.weight" normal(0.0, 0.02) decay, "mlp.c_fc.bias" zeros : !fc, !fc_bias
    %down, %down_bias = graph.param "mlp.c_proj.weight" normal(0.0, 0.004082482904638631) decay, "mlp.c_proj.bias" zeros
        : !down, !width
    %normed = graph.layer_norm %x, %ln_1, %ln_1_bias : (!hidden, !width, !width) -> !hidden
    %qkv = graph.linear %normed, %c_attn, %c_attn_bias : (!hidden, !c_attn, !c_attn_bias) -> !qkv
    %q, %k, %v = graph.unstack %qkv dim 2 : !qkv -> !heads
    %heads = graph.attention %q, %k, %v causal : (!heads, !heads, !heads) -> !heads
    %attended = graph.linear %heads, %proj, %proj_bias contract 2 : (!heads, !proj, !width) -> !hidden
    %middle = graph.add %x, %attended : (!hidden, !hidden) -> !hidden
    %normed_2 = graph.layer_norm %middle, %ln_2, %ln_2_bias : (!hidden, !width, !width) -> !hidden
    %inner = graph.linear %normed_2, %fc, %fc_bias : (!hidden, !fc, !fc_bias) -> !inner
    %active = graph.gelu tanh %inner : !inner
    %mlp = graph.linear %active, %down, %down_bias : (!inner, !down, !width) -> !hidden
    %out = graph.add %middle, %mlp : (!hidden, !hidden) -> !hidden
    graph.return %out : !hidden
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %wte, %wpe = graph.param "transformer.wte.weight" normal(0.0, 0.02) decay,
        "transformer.wpe.weight" normal(0.0, 0.02) decay : !wte, !wpe
    %words = graph.embedding %wte, %tokens : (!wte, !tokens) -> !hidden
    %placed = graph.add %words, %wpe : (!hidden, !wpe) -> !hidden
    %layers = graph.repeat 12 @block(%placed) under "transformer.h.{}" : (!hidden) -> !hidden
    %ln_f, %ln_f_bias = graph.param "transformer.ln_f.weight" ones, "transformer.ln_f.bias" zeros : !width, !width
    %normed = graph.layer_norm %layers, %ln_f, %ln_f_bias : (!hidden, !width, !width) -> !hidden
    %logits = graph.linear %normed, %wte transposed : (!hidden, !wte) -> !logits
    %loss = graph.cross_entropy %logits, %targets ignoring -100 mean : (!logits, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
