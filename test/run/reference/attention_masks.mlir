// Two layers of attention with all that describes masks and scores: a prefix, samples with fewer keys, a learned bias
// that samples share, slopes, and values of another head dim. Samples have as many keys as tokens that are not 0.
module @attention_masks attributes {graph.sequence_length = 16 : i64} {
  graph.func private @block(%x: tensor<?x16x32xf32>, %lengths: tensor<?xi32>, %slopes: tensor<4xf32>) -> tensor<?x16x32xf32> {
    %q_proj = graph.param "q_proj.weight" normal(0.0, 0.02) : tensor<4x8x32xf32>
    %k_proj = graph.param "k_proj.weight" normal(0.0, 0.02) : tensor<2x8x32xf32>
    %v_proj = graph.param "v_proj.weight" normal(0.0, 0.02) : tensor<2x6x32xf32>
    %o_proj = graph.param "o_proj.weight" normal(0.0, 0.02) : tensor<32x4x6xf32>
    %bias = graph.param "bias" normal(0.0, 1.0) : tensor<1x4x16x16xf32>
    %q = graph.linear %x, %q_proj transposed : (tensor<?x16x32xf32>, tensor<4x8x32xf32>) -> tensor<?x16x4x8xf32>
    %k = graph.linear %x, %k_proj transposed : (tensor<?x16x32xf32>, tensor<2x8x32xf32>) -> tensor<?x16x2x8xf32>
    %v = graph.linear %x, %v_proj transposed : (tensor<?x16x32xf32>, tensor<2x6x32xf32>) -> tensor<?x16x2x6xf32>
    %heads = graph.attention %q, %k, %v lengths %lengths bias %bias slopes %slopes causal prefix 5
      : (tensor<?x16x4x8xf32>, tensor<?x16x2x8xf32>, tensor<?x16x2x6xf32>, tensor<?xi32>, tensor<1x4x16x16xf32>,
         tensor<4xf32>) -> tensor<?x16x4x6xf32>
    %out = graph.linear %heads, %o_proj contract 2 transposed : (tensor<?x16x4x6xf32>, tensor<32x4x6xf32>) -> tensor<?x16x32xf32>
    %sum = graph.add %x, %out : (tensor<?x16x32xf32>, tensor<?x16x32xf32>) -> tensor<?x16x32xf32>
    graph.return %sum : tensor<?x16x32xf32>
  }
  graph.func @loss(%tokens: tensor<?x16xi32>, %targets: tensor<?x16xi32>) -> tensor<f32> {
    %words = graph.param "words.weight" normal(0.0, 0.02) : tensor<64x32xf32>
    %head = graph.param "head.weight" normal(0.0, 0.02) : tensor<64x32xf32>
    %counted = graph.counted %tokens ignoring 0 : tensor<?x16xi32> to tensor<?x16xf32>
    %count = graph.reduce sum %counted dims [1] : tensor<?x16xf32> -> tensor<?xf32>
    %lengths = graph.cast %count : tensor<?xf32> to tensor<?xi32>
    %index = graph.iota : tensor<4xf32>
    %falling = graph.scale %index by -0.7 : tensor<4xf32>
    %slopes = graph.exp %falling : tensor<4xf32>
    %x = graph.embedding %words, %tokens : (tensor<64x32xf32>, tensor<?x16xi32>) -> tensor<?x16x32xf32>
    %layers = graph.repeat 2 @block(%x, %lengths, %slopes) under "layers.{}" : (tensor<?x16x32xf32>, tensor<?xi32>, tensor<4xf32>) -> tensor<?x16x32xf32>
    %logits = graph.linear %layers, %head transposed : (tensor<?x16x32xf32>, tensor<64x32xf32>) -> tensor<?x16x64xf32>
    %loss = graph.cross_entropy %logits, %targets mean : (tensor<?x16x64xf32>, tensor<?x16xi32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
