// Written by dtc.export.
!x = tensor<?x16x32xf32>
!cos = tensor<16x4xf32>
!norm_gain = tensor<32xf32>
!qkv_weight = tensor<3x4x8x32xf32>
!gate_weight = tensor<64x32xf32>
!gate_bias = tensor<64xf32>
!out_weight = tensor<32x4x8xf32>
!down_weight = tensor<32x64xf32>
!qkv = tensor<?x16x3x4x8xf32>
!part = tensor<?x16x4x8xf32>
!gate = tensor<?x16x64xf32>
!tokens = tensor<?x16xi32>
!embed_weight = tensor<61x32xf32>
!head = tensor<?x16x61xf32>

module @parallelgpt attributes {graph.sequence_length = 16 : i64, graph.tied = "{\"head.weight\": \"embed.weight\"}"} {
  graph.func private @block(%x: !x, %cos: !cos, %sin: !cos) -> !x {
    %norm_gain = graph.param "norm.gain" normal(1.03, 0.219) : !norm_gain
    %qkv_weight = graph.param "qkv.weight" normal(0.0, 0.174) stored [[0, 1, 2], [3]] decay : !qkv_weight
    %gate_weight = graph.param "gate.weight" normal(0.0, 0.174) decay : !gate_weight
    %gate_bias = graph.param "gate.bias" normal(0.0, 0.174) : !gate_bias
    %out_weight = graph.param "out.weight" normal(0.0, 0.172) stored [[0], [1, 2]] decay : !out_weight
    %up_weight = graph.param "up.weight" normal(0.0, 0.173) decay : !gate_weight
    %up_bias = graph.param "up.bias" normal(0.0, 0.184) : !gate_bias
    %down_weight = graph.param "down.weight" normal(0.0, 0.171) decay : !down_weight
    %down_bias = graph.param "down.bias" normal(0.0, 0.176) : !norm_gain
    %mask = graph.param "mask" constant(3.0e38) frozen : tensor<1x1x16x16xf32>
    %norm = graph.rms_norm %x, %norm_gain epsilon 1.0e-06 : (!x, !norm_gain) -> !x
    %qkv = graph.linear %norm, %qkv_weight transposed : (!x, !qkv_weight) -> !qkv
    %part, %part_2, %part_3 = graph.unstack %qkv dim 2 : !qkv -> !part
    %rotary = graph.rotary %part, %cos, %sin : (!part, !cos, !cos) -> !part
    %rotary_2 = graph.rotary %part_2, %cos, %sin : (!part, !cos, !cos) -> !part
    %heads = graph.attention %rotary, %rotary_2, %part_3 causal : (!part, !part, !part) -> !part
    %gate = graph.linear %norm, %gate_weight, %gate_bias transposed : (!x, !gate_weight, !gate_bias) -> !gate
    %out = graph.linear %heads, %out_weight contract 2 transposed : (!part, !out_weight) -> !x
    %sum = graph.add %x, %out : (!x, !x) -> !x
    %up = graph.linear %norm, %up_weight, %up_bias transposed : (!x, !gate_weight, !gate_bias) -> !gate
    %active = graph.gelu tanh %gate : !gate
    %product = graph.multiply %active, %up : (!gate, !gate) -> !gate
    %down = graph.linear %product, %down_weight, %down_bias transposed : (!gate, !down_weight, !norm_gain) -> !x
    %sum_2 = graph.add %sum, %down : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %embed_weight = graph.param "embed.weight" normal(0.0, 0.174) decay : !embed_weight
    %embed = graph.embedding %embed_weight, %tokens : (!embed_weight, !tokens) -> !x
    %cos, %sin = graph.rotary_table base 500.0 : !cos, !cos
    %layers = graph.repeat 3 @block(%embed, %cos, %sin) under "layers.{}" : (!x, !cos, !cos) -> !x
    %norm_gain = graph.param "norm.gain" normal(0.94, 0.204) : !norm_gain
    %norm = graph.rms_norm %layers, %norm_gain epsilon 1.0e-06 : (!x, !norm_gain) -> !x
    %head = graph.linear %norm, %embed_weight transposed : (!x, !embed_weight) -> !head
    %loss = graph.cross_entropy %head, %targets ignoring -100 mean : (!head, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
