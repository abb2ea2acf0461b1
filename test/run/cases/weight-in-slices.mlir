// Two slices of the columns of a weight, each of which is multiplied by as many columns of x.
module @slices attributes {graph.sequence_length = 8 : i64} {
  graph.func @loss(%tokens: tensor<?x8xi32>, %targets: tensor<?x8xi32>) -> tensor<f32> {
    %table, %head = graph.param "table" normal(0.0, 0.1) decay, "head" normal(0.0, 0.1) decay : tensor<64x16xf32>, tensor<64x16xf32>
    %x = graph.embedding %table, %tokens : (tensor<64x16xf32>, tensor<?x8xi32>) -> tensor<?x8x16xf32>
    %x0 = graph.slice %x dim 2 start 0 size 8 : tensor<?x8x16xf32> -> tensor<?x8x8xf32>
    %x1 = graph.slice %x dim 2 start 8 size 8 : tensor<?x8x16xf32> -> tensor<?x8x8xf32>
    %h0 = graph.slice %head dim 1 start 0 size 8 : tensor<64x16xf32> -> tensor<64x8xf32>
    %h1 = graph.slice %head dim 1 start 8 size 8 : tensor<64x16xf32> -> tensor<64x8xf32>
    %a = graph.linear %x0, %h0 transposed : (tensor<?x8x8xf32>, tensor<64x8xf32>) -> tensor<?x8x64xf32>
    %b = graph.linear %x1, %h1 transposed : (tensor<?x8x8xf32>, tensor<64x8xf32>) -> tensor<?x8x64xf32>
    %logits = graph.add %a, %b : (tensor<?x8x64xf32>, tensor<?x8x64xf32>) -> tensor<?x8x64xf32>
    %loss = graph.cross_entropy %logits, %targets mean : (tensor<?x8x64xf32>, tensor<?x8xi32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
