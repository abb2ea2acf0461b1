// A small language model: a multilayer perceptron says the next byte from the last four (after Bengio et al. 2003, JMLR 3).
// Sizes to change: sequences of 64, 256 words of 32 numbers each, 128 hidden ones, 2 layers. Trains on any text:
//   dtc compile models/mlp_lm.mlir --topology cpu --devices 1 --global-batch 32 -o mlp_lm.dte
//   dtrun mlp_lm.dte --data README.md --lr 3e-3 --steps 200
!tokens = tensor<?x64xi32>
!words = tensor<?x64x32xf32>
!context = tensor<?x64x4x32xf32> // each word with the three before it
!hidden = tensor<?x64x128xf32>
!logits = tensor<?x64x256xf32>
!table = tensor<256x32xf32>
!mix = tensor<4x32x128xf32>
!square = tensor<128x128xf32>
!width = tensor<128xf32>
!head = tensor<256x128xf32>
// A sequence without its last one, two and three.
!but_one = tensor<?x63x32xf32>
!but_two = tensor<?x62x32xf32>
!but_three = tensor<?x61x32xf32>

module @mlp_lm attributes {graph.sequence_length = 64 : i64} {
  graph.func private @layer(%x: !hidden) -> !hidden {
    %norm = graph.param "norm.weight" ones : !width
    %weight, %bias = graph.param "fc.weight" normal(0.0, 0.05) decay, "fc.bias" zeros : !square, !width
    %normed = graph.rms_norm %x, %norm : (!hidden, !width) -> !hidden
    %sums = graph.linear %normed, %weight, %bias : (!hidden, !square, !width) -> !hidden
    %active = graph.gelu tanh %sums : !hidden
    %out = graph.add %x, %active : (!hidden, !hidden) -> !hidden
    graph.return %out : !hidden
  }

  graph.func @loss(%tokens: !tokens, %targets: !tokens) -> tensor<f32> {
    %table = graph.param "embed.weight" normal(0.0, 0.1) decay : !table
    %words = graph.embedding %table, %tokens : (!table, !tokens) -> !words

    // Shifted by one, two and three; zeros come before the first word.
    %one = graph.slice %words dim 1 start 0 size 63 : !words -> !but_one
    %two = graph.slice %words dim 1 start 0 size 62 : !words -> !but_two
    %three = graph.slice %words dim 1 start 0 size 61 : !words -> !but_three
    %last = graph.pad %one dim 1 low 1 high 0 : !but_one -> !words
    %second_last = graph.pad %two dim 1 low 2 high 0 : !but_two -> !words
    %third_last = graph.pad %three dim 1 low 3 high 0 : !but_three -> !words
    %context = graph.concat %words, %last, %second_last, %third_last dim 2 stack
        : (!words, !words, !words, !words) -> !context

    %mix, %bias = graph.param "mix.weight" normal(0.0, 0.05) decay, "mix.bias" zeros : !mix, !width
    %mixed = graph.linear %context, %mix, %bias contract 2 : (!context, !mix, !width) -> !hidden
    %layers = graph.repeat 2 @layer(%mixed) under "layers.{}" : (!hidden) -> !hidden
    %head = graph.param "head.weight" normal(0.0, 0.05) decay : !head
    %logits = graph.linear %layers, %head transposed : (!hidden, !head) -> !logits
    %loss = graph.cross_entropy %logits, %targets mean : (!logits, !tokens) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
