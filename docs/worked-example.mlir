// One linear layer with the mean squared error as its loss: the model of docs/worked-example.md.
!input = tensor<?x8xf32>
!output = tensor<?x16xf32>
!weight = tensor<8x16xf32>
!bias = tensor<16xf32>

module @linear {
  graph.func @loss(%x: !input, %target: !output) -> tensor<f32> {
    %weight, %bias = graph.param "weight" normal(0.0, 0.1) decay, "bias" zeros : !weight, !bias
    %y = graph.linear %x, %weight, %bias : (!input, !weight, !bias) -> !output
    %error = graph.subtract %y, %target : (!output, !output) -> !output
    %square = graph.multiply %error, %error : (!output, !output) -> !output
    %loss = graph.reduce mean %square dims [0, 1] : !output -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
