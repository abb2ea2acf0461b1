module @m attributes {graph.sequence_length = 4 : i64} {
  graph.parameter @w : tensor<8x8xf32> init zeros
  graph.func @loss(%t: tensor<?x4xi32>, %u: tensor<?x4xi32>) -> tensor<f32> {
    %w = graph.get @w : tensor<8x8xf32>
    %x = graph.embedding %w, %t : (tensor<8x8xf32>, tensor<?x4xi32>) -> tensor<?x4x8xf32>
    %l, %lse = graph.cross_entropy %x, %u : (tensor<?x4x8xf32>, tensor<?x4xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    %a = graph.add %l, %lse : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %m = graph.reduce mean %a dims [0, 1] : tensor<?x4xf32> -> tensor<f32>
    graph.return %m : tensor<f32>
  }
}
