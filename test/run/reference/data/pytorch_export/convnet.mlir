// Written by dtc.export.
!x = tensor<?x8x4x4xf32>
!depthwise_weight = tensor<8x1x3x3xf32>
!depthwise_bias = tensor<8xf32>
!up_weight = tensor<32x8xf32>
!up_bias = tensor<32xf32>
!down_weight = tensor<8x32xf32>
!groups_weight = tensor<8x1x1xf32>
!gate_weight = tensor<8x8xf32>
!turned = tensor<?x4x4x8xf32>
!up = tensor<?x4x4x32xf32>
!shaped = tensor<?x2x64xf32>
!number = tensor<64xf32>
!mean = tensor<?x8xf32>
!shaped_3 = tensor<?x8x1x1xf32>
!images = tensor<?x2x8x8xf32>
!targets = tensor<?x4xf32>
!stem_0_weight = tensor<8x2x3x3xf32>
!conv2d = tensor<?x8x8x8xf32>
!head_weight = tensor<4x8x2x2xf32>
!head_bias = tensor<4xf32>
!avg_pool2d = tensor<?x8x2x2xf32>

module @convnet {
  graph.func private @block(%x: !x) -> !x {
    %depthwise_weight = graph.param "depthwise.weight" normal(0.0, 0.176) decay : !depthwise_weight
    %depthwise_bias = graph.param "depthwise.bias" normal(-0.0249, 0.18) : !depthwise_bias
    %norm_weight = graph.param "norm.weight" normal(1.01, 0.209) : !depthwise_bias
    %norm_bias = graph.param "norm.bias" normal(-0.0545, 0.191) : !depthwise_bias
    %up_weight = graph.param "up.weight" normal(0.0, 0.179) decay : !up_weight
    %up_bias = graph.param "up.bias" normal(0.0, 0.192) : !up_bias
    %down_weight = graph.param "down.weight" normal(0.0, 0.172) decay : !down_weight
    %down_bias = graph.param "down.bias" normal(0.0181, 0.175) : !depthwise_bias
    %scale = graph.param "scale" normal(-0.0374, 0.172) : !depthwise_bias
    %groups_weight = graph.param "groups.weight" normal(-0.0617, 0.127) stored [[0, 1, 2]] : !groups_weight
    %groups_bias = graph.param "groups.bias" normal(0.0538, 0.19) stored [[0, 1, 2]] : !groups_weight
    %gate_weight = graph.param "gate.weight" normal(0.0, 0.171) decay : !gate_weight
    %gate_bias = graph.param "gate.bias" normal(0.0, 0.165) : !depthwise_bias
    %depthwise = graph.conv2d %x, %depthwise_weight, %depthwise_bias padding [1, 1] : (!x, !depthwise_weight, !depthwise_bias) -> !x
    %turned = graph.transpose %depthwise by [0, 2, 3, 1] : !x -> !turned
    %norm = graph.layer_norm %turned, %norm_weight, %norm_bias : (!turned, !depthwise_bias, !depthwise_bias) -> !turned
    %up = graph.linear %norm, %up_weight, %up_bias transposed : (!turned, !up_weight, !up_bias) -> !up
    %active = graph.gelu erf %up : !up
    %down = graph.linear %active, %down_weight, %down_bias transposed : (!up, !down_weight, !depthwise_bias) -> !turned
    %product = graph.multiply %scale, %down : (!depthwise_bias, !turned) -> !turned
    %turned_2 = graph.transpose %product by [0, 3, 1, 2] : !turned -> !x
    %shaped = graph.reshape %turned_2 : !x -> !shaped
    %number = graph.constant 1.0 : !number
    %number_2 = graph.constant 0.0 : !number
    %groups = graph.layer_norm %shaped, %number, %number_2 : (!shaped, !number, !number) -> !shaped
    %shaped_2 = graph.reshape %groups : !shaped -> !x
    %product_2 = graph.multiply %shaped_2, %groups_weight : (!x, !groups_weight) -> !x
    %sum = graph.add %product_2, %groups_bias : (!x, !groups_weight) -> !x
    %mean = graph.reduce mean %sum dims [2, 3] : !x -> !mean
    %gate = graph.linear %mean, %gate_weight, %gate_bias transposed : (!mean, !gate_weight, !depthwise_bias) -> !mean
    %sigmoid = graph.point sigmoid %gate : !mean
    %shaped_3 = graph.reshape %sigmoid : !mean -> !shaped_3
    %product_3 = graph.multiply %sum, %shaped_3 : (!x, !shaped_3) -> !x
    %sum_2 = graph.add %x, %product_3 : (!x, !x) -> !x
    graph.return %sum_2 : !x
  }

  graph.func @loss(%images: !images, %targets: !targets) -> tensor<f32> {
    %stem_0_weight = graph.param "stem.0.weight" normal(0.0, 0.162) decay : !stem_0_weight
    %stem_0_bias = graph.param "stem.0.bias" normal(-0.11, 0.15) : !depthwise_bias
    %conv2d = graph.conv2d %images, %stem_0_weight, %stem_0_bias padding [1, 1] : (!images, !stem_0_weight, !depthwise_bias) -> !conv2d
    %active = graph.relu %conv2d : !conv2d
    %max_pool2d = graph.max_pool2d %active kernel [2, 2] stride [2, 2] : !conv2d -> !x
    %layers = graph.repeat 2 @block(%max_pool2d) under "blocks.{}" : (!x) -> !x
    %head_weight = graph.param "head.weight" normal(0.0, 0.18) stored [[0], [1, 2, 3]] decay : !head_weight
    %head_bias = graph.param "head.bias" normal(0.0, 0.0857) : !head_bias
    %avg_pool2d = graph.avg_pool2d %layers kernel [2, 2] stride [2, 2] : !x -> !avg_pool2d
    %head = graph.linear %avg_pool2d, %head_weight, %head_bias contract 3 transposed : (!avg_pool2d, !head_weight, !head_bias) -> !targets
    %number = graph.constant 1.0 : tensor<f32>
    %log_sigmoid = graph.point log_sigmoid %head : !targets
    %difference = graph.subtract %number, %targets : (tensor<f32>, !targets) -> !targets
    %product = graph.multiply %difference, %head : (!targets, !targets) -> !targets
    %difference_2 = graph.subtract %product, %log_sigmoid : (!targets, !targets) -> !targets
    %mean = graph.reduce mean %difference_2 dims [0, 1] : !targets -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
