// Written by dtc.export.
!tokens = tensor<?x6xi32>
!lengths = tensor<?xi32>
!embed_weight = tensor<61x12xf32>
!router_weight = tensor<4x12xf32>
!experts = tensor<4x12x12xf32>
!head_weight = tensor<5x12xf32>
!head_bias = tensor<5xf32>
!embed = tensor<?x6x12xf32>
!router = tensor<?x6x4xf32>
!largest = tensor<?x6x2xf32>
!mean = tensor<?x6xf32>
!shaped = tensor<?x6x1xf32>
!shaped_2 = tensor<48x12xf32>
!linear = tensor<?x6x48xf32>
!shaped_3 = tensor<?x6x4x12xf32>
!shaped_4 = tensor<?x6x4x1xf32>
!cast = tensor<?xf32>
!wide_2 = tensor<?x12xf32>
!shaped_5 = tensor<?x1x12xf32>
!head = tensor<?x1x5xf32>
!shaped_7 = tensor<?x1xi32>

module @routed {
  graph.func @loss(%tokens: !tokens, %lengths: !lengths, %targets: !lengths) -> tensor<f32> {
    %embed_weight = graph.param "embed.weight" normal(0.0, 0.176) decay : !embed_weight
    %router_weight = graph.param "router.weight" normal(0.0, 0.193) decay : !router_weight
    %experts = graph.param "experts" normal(0.0, 0.176) decay : !experts
    %head_weight = graph.param "head.weight" normal(-0.0214, 0.177) decay : !head_weight
    %head_bias = graph.param "head.bias" normal(-0.0199, 0.0921) : !head_bias
    %embed = graph.embedding %embed_weight, %tokens : (!embed_weight, !tokens) -> !embed
    %router = graph.linear %embed, %router_weight transposed : (!embed, !router_weight) -> !router
    %softmax = graph.softmax %router : !router
    %largest, %places = graph.top_k %softmax dim 2 : !router -> (!largest, !largest)
    %number = graph.constant 0.0 : tensor<f32>
    %mean = graph.reduce sum %largest dims [2] : !largest -> !mean
    %shaped = graph.reshape %mean : !mean -> !shaped
    %quotient = graph.divide %largest, %shaped : (!largest, !shaped) -> !largest
    %sum = graph.scatter_add %quotient, %places dim 2 : (!largest, !largest) -> !router
    %number_2 = graph.constant 1.0 : tensor<f32>
    %wide = graph.broadcast %number_2 like %tokens : !tokens, dims [0, 1, 2] : tensor<f32> -> !largest
    %sum_2 = graph.scatter_add %wide, %places dim 2 : (!largest, !largest) -> !router
    %difference = graph.subtract %number_2, %sum_2 : (tensor<f32>, !router) -> !router
    %product = graph.multiply %number, %difference : (tensor<f32>, !router) -> !router
    %sum_3 = graph.add %sum, %product : (!router, !router) -> !router
    %turned = graph.transpose %experts by [0, 2, 1] : !experts -> !experts
    %shaped_2 = graph.reshape %turned : !experts -> !shaped_2
    %linear = graph.linear %embed, %shaped_2 transposed : (!embed, !shaped_2) -> !linear
    %shaped_3 = graph.reshape %linear : !linear -> !shaped_3
    %shaped_4 = graph.reshape %sum_3 : !router -> !shaped_4
    %product_2 = graph.multiply %shaped_3, %shaped_4 : (!shaped_3, !shaped_4) -> !shaped_3
    %mean_2 = graph.reduce sum %product_2 dims [2] : !shaped_3 -> !embed
    %tanh = graph.tanh %mean_2 : !embed
    %sum_4 = graph.add %embed, %tanh : (!embed, !embed) -> !embed
    %largest_2, %places_2 = graph.top_k %sum_4 dim 1 : !embed -> (!embed, !embed)
    %cast = graph.cast %lengths : !lengths to !cast
    %difference_2 = graph.subtract %cast, %number_2 : (!cast, tensor<f32>) -> !cast
    %mask = graph.compare lt %difference_2, %number : (!cast, tensor<f32>) -> !cast
    %scale = graph.scale %mask by 6.0 : !cast
    %sum_5 = graph.add %difference_2, %scale : (!cast, !cast) -> !cast
    %wide_2 = graph.broadcast %sum_5 dims [1] : !cast -> !wide_2
    %shaped_5 = graph.reshape %wide_2 : !wide_2 -> !shaped_5
    %chosen = graph.gather %sum_4, %shaped_5 dim 1 : (!embed, !shaped_5) -> !shaped_5
    %part = graph.slice %largest_2 dim 1 start 0 size 1 squeeze : !embed -> !wide_2
    %scale_2 = graph.scale %part by 0.1 : !wide_2
    %shaped_6 = graph.reshape %scale_2 : !wide_2 -> !shaped_5
    %sum_6 = graph.add %chosen, %shaped_6 : (!shaped_5, !shaped_5) -> !shaped_5
    %head = graph.linear %sum_6, %head_weight, %head_bias transposed : (!shaped_5, !head_weight, !head_bias) -> !head
    %shaped_7 = graph.reshape %targets : !lengths -> !shaped_7
    %loss = graph.cross_entropy %head, %shaped_7 ignoring -100 mean : (!head, !shaped_7) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
