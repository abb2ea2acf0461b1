// Which digit is drawn, by convolutions: 8 x 8 pixels of 0 to 16, 8 filters, half the pixels, 16 filters, a quarter of them.
// Parameters have the names and layouts of torch.nn, with the layers in two torch.nn.Sequential:
//   features    Conv2d(1, 8, 3, padding=1), ReLU(), MaxPool2d(2), Conv2d(8, 16, 3, padding=1), ReLU(), AvgPool2d(2)
//   classifier  Flatten(), Linear(64, 10)
// Trains in a few seconds:
//   dtc compile models/digits/convnet.mlir --topology cpu --devices 1 --global-batch 96 -o convnet.dte
//   dtrun convnet.dte --data images=models/digits/images.npy,labels=models/digits/labels.npy --lr 1e-2
!images = tensor<?x64xf32>
!labels = tensor<?xi32>
!pixels = tensor<?x1x8x8xf32>
!edges = tensor<?x8x8x8xf32>
!halves = tensor<?x8x4x4xf32>
!shapes = tensor<?x16x4x4xf32>
!quarters = tensor<?x16x2x2xf32>
!features = tensor<?x64xf32>
!scores = tensor<?x10xf32>
!edges_weight = tensor<8x1x3x3xf32>
!edges_bias = tensor<8xf32>
!shapes_weight = tensor<16x8x3x3xf32>
!shapes_bias = tensor<16xf32>
!scores_weight = tensor<10x64xf32>
!scores_bias = tensor<10xf32>

module @convnet {
  graph.func @loss(%images: !images, %labels: !labels) -> tensor<f32> {
    %w0, %b0 = graph.param "features.0.weight" normal(0.0, 0.2) decay, "features.0.bias" zeros
        : !edges_weight, !edges_bias
    %w1, %b1 = graph.param "features.3.weight" normal(0.0, 0.1) decay, "features.3.bias" zeros
        : !shapes_weight, !shapes_bias
    %w2, %b2 = graph.param "classifier.1.weight" normal(0.0, 0.1) decay, "classifier.1.bias" zeros
        : !scores_weight, !scores_bias

    %grey = graph.scale %images by 0.0625 : !images
    %pixels = graph.reshape %grey : !images -> !pixels
    %sums0 = graph.conv2d %pixels, %w0, %b0 padding [1, 1] : (!pixels, !edges_weight, !edges_bias) -> !edges
    %edges = graph.relu %sums0 : !edges
    %halves = graph.max_pool2d %edges kernel [2, 2] stride [2, 2] : !edges -> !halves
    %sums1 = graph.conv2d %halves, %w1, %b1 padding [1, 1] : (!halves, !shapes_weight, !shapes_bias) -> !shapes
    %shapes = graph.relu %sums1 : !shapes
    %quarters = graph.avg_pool2d %shapes kernel [2, 2] stride [2, 2] : !shapes -> !quarters
    %features = graph.reshape %quarters : !quarters -> !features
    %scores = graph.linear %features, %w2, %b2 transposed : (!features, !scores_weight, !scores_bias) -> !scores
    %loss = graph.cross_entropy %scores, %labels mean : (!scores, !labels) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
