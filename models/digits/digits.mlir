// Which digit is drawn: 8 x 8 pixels of 0 to 16, a hidden layer of 48, one of ten classes.
// Trains in a second:
//   dtc compile models/digits/digits.mlir --topology cpu --devices 1 --global-batch 96 -o digits.dte
//   dtrun digits.dte --data images=models/digits/images.npy,labels=models/digits/labels.npy --lr 1e-2
!images = tensor<?x64xf32>
!labels = tensor<?xi32>
!hidden = tensor<?x48xf32>
!scores = tensor<?x10xf32>
!rows   = tensor<?xf32>

module @digits {
  graph.parameter @hidden.weight : tensor<48x64xf32> init normal(0.0, 0.1) decay
  graph.parameter @hidden.bias : tensor<48xf32> init zeros
  graph.parameter @scores.weight : tensor<10x48xf32> init normal(0.0, 0.1) decay
  graph.parameter @scores.bias : tensor<10xf32> init zeros

  graph.func @loss(%images: !images, %labels: !labels) -> tensor<f32> {
    %pixels = graph.scale %images by 0.0625 : !images

    %w0 = graph.get @hidden.weight : tensor<48x64xf32>
    %b0 = graph.get @hidden.bias : tensor<48xf32>
    %sums = graph.linear %pixels, %w0 transposed : (!images, tensor<48x64xf32>) -> !hidden
    %biased = graph.add %sums, %b0 : (!hidden, tensor<48xf32>) -> !hidden
    %hidden = graph.gelu erf %biased : !hidden

    %w1 = graph.get @scores.weight : tensor<10x48xf32>
    %b1 = graph.get @scores.bias : tensor<10xf32>
    %raw = graph.linear %hidden, %w1 transposed : (!hidden, tensor<10x48xf32>) -> !scores
    %scores = graph.add %raw, %b1 : (!scores, tensor<10xf32>) -> !scores

    %rows, %lse = graph.cross_entropy %scores, %labels : (!scores, !labels) -> (!rows, !rows)
    %mean = graph.reduce mean %rows dims [0] : !rows -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
