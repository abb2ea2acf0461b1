// Two layers of attention whose positions start elsewhere, as scalars that the program computes: the last half of the
// queries with the first keys, a window and slopes; keys that start late, behind a prefix; and queries that are behind
// all keys, of which some see none through a window on both sides.
module @attention_starts attributes {graph.sequence_length = 16 : i64} {
  graph.func private @block(%x: tensor<?x16x32xf32>, %late: tensor<2xi32>, %early: tensor<2xi32>, %far: tensor<2xi32>, %slopes: tensor<4xf32>) -> tensor<?x16x32xf32> {
    %q_proj = graph.param "q_proj.weight" normal(0.0, 0.02) : tensor<4x8x32xf32>
    %k_proj = graph.param "k_proj.weight" normal(0.0, 0.02) : tensor<2x8x32xf32>
    %v_proj = graph.param "v_proj.weight" normal(0.0, 0.02) : tensor<2x8x32xf32>
    %o_proj = graph.param "o_proj.weight" normal(0.0, 0.02) : tensor<32x4x8xf32>
    %q = graph.linear %x, %q_proj transposed : (tensor<?x16x32xf32>, tensor<4x8x32xf32>) -> tensor<?x16x4x8xf32>
    %k = graph.linear %x, %k_proj transposed : (tensor<?x16x32xf32>, tensor<2x8x32xf32>) -> tensor<?x16x2x8xf32>
    %v = graph.linear %x, %v_proj transposed : (tensor<?x16x32xf32>, tensor<2x8x32xf32>) -> tensor<?x16x2x8xf32>
    %q_last = graph.slice %q dim 1 start 8 size 8 : tensor<?x16x4x8xf32> -> tensor<?x8x4x8xf32>
    %k_first = graph.slice %k dim 1 start 0 size 12 : tensor<?x16x2x8xf32> -> tensor<?x12x2x8xf32>
    %v_first = graph.slice %v dim 1 start 0 size 12 : tensor<?x16x2x8xf32> -> tensor<?x12x2x8xf32>
    %seen_late = graph.attention %q_last, %k_first, %v_first slopes %slopes starts %late causal sliding 6
      : (tensor<?x8x4x8xf32>, tensor<?x12x2x8xf32>, tensor<?x12x2x8xf32>, tensor<4xf32>, tensor<2xi32>) -> tensor<?x8x4x8xf32>
    %in_place = graph.pad %seen_late dim 1 low 8 high 0 : tensor<?x8x4x8xf32> -> tensor<?x16x4x8xf32>
    %k_last = graph.slice %k dim 1 start 4 size 12 : tensor<?x16x2x8xf32> -> tensor<?x12x2x8xf32>
    %v_last = graph.slice %v dim 1 start 4 size 12 : tensor<?x16x2x8xf32> -> tensor<?x12x2x8xf32>
    %seen_early = graph.attention %q, %k_last, %v_last starts %early causal prefix 7
      : (tensor<?x16x4x8xf32>, tensor<?x12x2x8xf32>, tensor<?x12x2x8xf32>, tensor<2xi32>) -> tensor<?x16x4x8xf32>
    %seen_far = graph.attention %q, %k, %v starts %far sliding 12
      : (tensor<?x16x4x8xf32>, tensor<?x16x2x8xf32>, tensor<?x16x2x8xf32>, tensor<2xi32>) -> tensor<?x16x4x8xf32>
    %both = graph.add %in_place, %seen_early : (tensor<?x16x4x8xf32>, tensor<?x16x4x8xf32>) -> tensor<?x16x4x8xf32>
    %heads = graph.add %both, %seen_far : (tensor<?x16x4x8xf32>, tensor<?x16x4x8xf32>) -> tensor<?x16x4x8xf32>
    %out = graph.linear %heads, %o_proj contract 2 transposed : (tensor<?x16x4x8xf32>, tensor<32x4x8xf32>) -> tensor<?x16x32xf32>
    %sum = graph.add %x, %out : (tensor<?x16x32xf32>, tensor<?x16x32xf32>) -> tensor<?x16x32xf32>
    graph.return %sum : tensor<?x16x32xf32>
  }
  graph.func @loss(%tokens: tensor<?x16xi32>, %targets: tensor<?x16xi32>) -> tensor<f32> {
    %words = graph.param "words.weight" normal(0.0, 0.02) : tensor<64x32xf32>
    %head = graph.param "head.weight" normal(0.0, 0.02) : tensor<64x32xf32>
    %index = graph.iota : tensor<4xf32>
    %falling = graph.scale %index by -0.7 : tensor<4xf32>
    %slopes = graph.exp %falling : tensor<4xf32>
    %of_keys = graph.iota : tensor<2xf32>
    %one = graph.constant 1.0 : tensor<f32>
    %of_queries = graph.subtract %one, %of_keys : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
    %late_numbers = graph.scale %of_queries by 8.0 : tensor<2xf32>
    %late = graph.cast %late_numbers : tensor<2xf32> to tensor<2xi32>
    %early_numbers = graph.scale %of_keys by 4.0 : tensor<2xf32>
    %early = graph.cast %early_numbers : tensor<2xf32> to tensor<2xi32>
    %far_numbers = graph.scale %of_queries by 20.0 : tensor<2xf32>
    %far = graph.cast %far_numbers : tensor<2xf32> to tensor<2xi32>
    %x = graph.embedding %words, %tokens : (tensor<64x32xf32>, tensor<?x16xi32>) -> tensor<?x16x32xf32>
    %layers = graph.repeat 2 @block(%x, %late, %early, %far, %slopes) under "layers.{}" : (tensor<?x16x32xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xf32>) -> tensor<?x16x32xf32>
    %logits = graph.linear %layers, %head transposed : (tensor<?x16x32xf32>, tensor<64x32xf32>) -> tensor<?x16x64xf32>
    %loss = graph.cross_entropy %logits, %targets mean : (tensor<?x16x64xf32>, tensor<?x16xi32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
