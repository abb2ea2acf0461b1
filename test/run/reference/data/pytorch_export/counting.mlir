// Written by dtc.export.
!features = tensor<?x6xf32>
!targets = tensor<?x3xf32>
!mean = tensor<5xf32>
!slow = tensor<3x5xf32>
!first_weight = tensor<5x6xf32>
!head_bias = tensor<3xf32>
!first = tensor<?x5xf32>

module @counting {
  graph.func @loss(%features: !features, %targets: !targets) -> tensor<f32> {
    %steps = graph.param "steps" constant(3.0) frozen : tensor<f32>
    %mean = graph.param "mean" zeros frozen : !mean
    %slow = graph.param "slow" constant(0.20000000298023224) frozen : !slow
    %first_weight = graph.param "first.weight" normal(-0.0198, 0.166) decay : !first_weight
    %first_bias = graph.param "first.bias" normal(-0.0986, 0.122) : !mean
    %head_weight = graph.param "head.weight" normal(0.0, 0.192) decay : !slow
    %head_bias = graph.param "head.bias" normal(0.0, 0.0974) : !head_bias
    %detach = graph.detach %steps : tensor<f32>
    %detach_2 = graph.detach %mean : !mean
    %detach_3 = graph.detach %slow : !slow
    %first = graph.linear %features, %first_weight, %first_bias transposed : (!features, !first_weight, !mean) -> !first
    %tanh = graph.tanh %first : !first
    %number = graph.constant 1.0 : tensor<f32>
    %sum = graph.add %detach, %number : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %scale = graph.scale %detach_2 by 0.9 : !mean
    %mean_2 = graph.reduce mean %tanh dims [0] : !first -> !mean
    %scale_2 = graph.scale %mean_2 by 0.1 : !mean
    %sum_2 = graph.add %scale, %scale_2 : (!mean, !mean) -> !mean
    %difference = graph.subtract %head_weight, %detach_3 : (!slow, !slow) -> !slow
    %scale_3 = graph.scale %difference by 0.1 : !slow
    %sum_3 = graph.add %detach_3, %scale_3 : (!slow, !slow) -> !slow
    %observe = graph.observe last %tanh, %slow, %sum_3 : !first, !slow
    %observe_2 = graph.observe mean %observe, %mean, %sum_2 : !first, !mean
    %observe_3 = graph.observe last %observe_2, %steps, %sum : !first, tensor<f32>
    %head = graph.linear %observe_3, %head_weight, %head_bias transposed : (!first, !slow, !head_bias) -> !targets
    %quotient = graph.divide %head, %sum : (!targets, tensor<f32>) -> !targets
    %difference_2 = graph.subtract %quotient, %targets : (!targets, !targets) -> !targets
    %product = graph.multiply %difference_2, %difference_2 : (!targets, !targets) -> !targets
    %mean_3 = graph.reduce mean %product dims [0, 1] : !targets -> tensor<f32>
    graph.return %mean_3 : tensor<f32>
  }
}
