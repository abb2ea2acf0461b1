// Written by dtc.export.
!series = tensor<?x10x4xf32>
!targets = tensor<?x3xf32>
!start_weight = tensor<12x4xf32>
!start_bias = tensor<12xf32>
!counts = tensor<10x1xf32>
!look_weight = tensor<12x12x1x3xf32>
!mix_weight = tensor<12x24xf32>
!last_weight = tensor<3x12xf32>
!last_bias = tensor<3xf32>
!start = tensor<?x10x12xf32>
!pad = tensor<?x12x12xf32>
!shaped = tensor<?x12x1x12xf32>
!look = tensor<?x12x1x10xf32>
!shaped_2 = tensor<?x12x10xf32>
!joined = tensor<?x10x24xf32>
!part = tensor<?x12xf32>

module @series {
  graph.func @loss(%series: !series, %targets: !targets) -> tensor<f32> {
    %start_weight = graph.param "start.weight" normal(0.0, 0.176) decay : !start_weight
    %start_bias = graph.param "start.bias" normal(0.115, 0.155) : !start_bias
    %counts = graph.param "counts" constant(3.0e38) stored [[0, 1]] frozen : !counts
    %look_weight = graph.param "look.weight" normal(0.0, 0.177) stored [[0], [1], [2, 3]] decay : !look_weight
    %look_bias = graph.param "look.bias" normal(0.0533, 0.149) : !start_bias
    %mix_weight = graph.param "mix.weight" normal(-0.0252, 0.171) decay : !mix_weight
    %mix_bias = graph.param "mix.bias" normal(-0.0283, 0.149) : !start_bias
    %last_weight = graph.param "last.weight" normal(0.022, 0.178) decay : !last_weight
    %last_bias = graph.param "last.bias" normal(0.155, 0.00974) : !last_bias
    %start = graph.linear %series, %start_weight, %start_bias transposed : (!series, !start_weight, !start_bias) -> !start
    %tanh = graph.tanh %start : !start
    %cumsum = graph.cumsum %tanh dim 1 : !start
    %quotient = graph.divide %cumsum, %counts : (!start, !counts) -> !start
    %pad = graph.pad %tanh dim 1 low 2 high 0 : !start -> !pad
    %turned = graph.transpose %pad by [0, 2, 1] : !pad -> !pad
    %shaped = graph.reshape %turned : !pad -> !shaped
    %look = graph.conv2d %shaped, %look_weight, %look_bias : (!shaped, !look_weight, !start_bias) -> !look
    %shaped_2 = graph.reshape %look : !look -> !shaped_2
    %turned_2 = graph.transpose %shaped_2 by [0, 2, 1] : !shaped_2 -> !start
    %joined = graph.concat %quotient, %turned_2 dim 2 : (!start, !start) -> !joined
    %mix = graph.linear %joined, %mix_weight, %mix_bias transposed : (!joined, !mix_weight, !start_bias) -> !start
    %active = graph.gelu erf %mix : !start
    %sum = graph.add %tanh, %active : (!start, !start) -> !start
    %turned_3 = graph.transpose %sum by [0, 2, 1] : !start -> !shaped_2
    %cumsum_2 = graph.cumsum %turned_3 dim 2 : !shaped_2
    %part = graph.slice %cumsum_2 dim 2 start 9 size 1 squeeze : !shaped_2 -> !part
    %scale = graph.scale %part by 0.1 : !part
    %part_2 = graph.slice %sum dim 1 start 9 size 1 squeeze : !start -> !part
    %sum_2 = graph.add %scale, %part_2 : (!part, !part) -> !part
    %last = graph.linear %sum_2, %last_weight, %last_bias transposed : (!part, !last_weight, !last_bias) -> !targets
    %difference = graph.subtract %last, %targets : (!targets, !targets) -> !targets
    %abs = graph.point abs %difference : !targets
    %number = graph.constant 1.0 : tensor<f32>
    %minimum = graph.minimum %abs, %number : (!targets, tensor<f32>) -> !targets
    %product = graph.multiply %minimum, %minimum : (!targets, !targets) -> !targets
    %scale_2 = graph.scale %product by 0.5 : !targets
    %difference_2 = graph.subtract %abs, %minimum : (!targets, !targets) -> !targets
    %sum_3 = graph.add %scale_2, %difference_2 : (!targets, !targets) -> !targets
    %mean = graph.reduce mean %sum_3 dims [0, 1] : !targets -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
