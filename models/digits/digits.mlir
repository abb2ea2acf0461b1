// Which digit is drawn: 8 x 8 pixels of 0 to 16, a hidden layer of 48, one of ten classes.
// Trains in a second:
//   dtc compile models/digits/digits.mlir --topology cpu --devices 1 --global-batch 96 -o digits.dte
//   dtrun digits.dte --data images=models/digits/images.npy,labels=models/digits/labels.npy --lr 1e-2
!images = tensor<?x64xf32>
!labels = tensor<?xi32>
!hidden = tensor<?x48xf32>
!scores = tensor<?x10xf32>
!hidden_weight = tensor<48x64xf32>
!hidden_bias = tensor<48xf32>
!scores_weight = tensor<10x48xf32>
!scores_bias = tensor<10xf32>

module @digits {
  graph.func @loss(%images: !images, %labels: !labels) -> tensor<f32> {
    %w0, %b0 = graph.param "hidden.weight" normal(0.0, 0.1) decay, "hidden.bias" zeros : !hidden_weight, !hidden_bias
    %w1, %b1 = graph.param "scores.weight" normal(0.0, 0.1) decay, "scores.bias" zeros : !scores_weight, !scores_bias

    %pixels = graph.scale %images by 0.0625 : !images
    %sums = graph.linear %pixels, %w0, %b0 transposed : (!images, !hidden_weight, !hidden_bias) -> !hidden
    %hidden = graph.gelu erf %sums : !hidden
    %scores = graph.linear %hidden, %w1, %b1 transposed : (!hidden, !scores_weight, !scores_bias) -> !scores
    %loss = graph.cross_entropy %scores, %labels mean : (!scores, !labels) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
