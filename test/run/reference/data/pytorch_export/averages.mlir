// Written by dtc.export.
!features = tensor<?x6xf32>
!targets = tensor<?x3xf32>
!start_weight = tensor<12x6xf32>
!start_bias = tensor<12xf32>
!second_running_mean = tensor<4xf32>
!last_weight = tensor<3x12xf32>
!last_bias = tensor<3xf32>
!start = tensor<?x12xf32>
!shaped = tensor<?x4x3xf32>
!shaped_5 = tensor<1xf32>

module @averages {
  graph.func @loss(%features: !features, %targets: !targets) -> tensor<f32> {
    %start_weight = graph.param "start.weight" normal(-0.0198, 0.173) decay : !start_weight
    %start_bias = graph.param "start.bias" normal(0.115, 0.155) : !start_bias
    %first_weight = graph.param "first.weight" normal(0.0, 0.208) : !start_bias
    %first_bias = graph.param "first.bias" normal(-0.0402, 0.173) : !start_bias
    %first_running_mean = graph.param "first.running_mean" zeros frozen : !start_bias
    %first_running_var = graph.param "first.running_var" ones frozen : !start_bias
    %first_num_batches_tracked = graph.param "first.num_batches_tracked" zeros frozen : tensor<f32>
    %second_running_mean = graph.param "second.running_mean" zeros frozen : !second_running_mean
    %second_running_var = graph.param "second.running_var" ones frozen : !second_running_mean
    %second_num_batches_tracked = graph.param "second.num_batches_tracked" zeros frozen : tensor<f32>
    %third_weight = graph.param "third.weight" normal(0.148, 0.164) : !second_running_mean
    %third_bias = graph.param "third.bias" normal(-0.0498, 0.0978) : !second_running_mean
    %fixed_weight = graph.param "fixed.weight" normal(-0.0367, 0.175) : !start_bias
    %fixed_bias = graph.param "fixed.bias" normal(-0.0508, 0.152) : !start_bias
    %last_weight = graph.param "last.weight" normal(0.022, 0.178) decay : !last_weight
    %last_bias = graph.param "last.bias" normal(0.155, 0.00974) : !last_bias
    %fixed_running_mean = graph.param "fixed.running_mean" constant(0.25) frozen : tensor<12xf32>
    %fixed_running_var = graph.param "fixed.running_var" constant(0.5) frozen : tensor<12xf32>
    %fixed_num_batches_tracked = graph.param "fixed.num_batches_tracked" zeros frozen : tensor<f32>
    %start = graph.linear %features, %start_weight, %start_bias transposed : (!features, !start_weight, !start_bias) -> !start
    %tanh = graph.tanh %start : !start
    %first = graph.batch_norm %tanh, %first_weight, %first_bias state %first_running_mean, %first_running_var, %first_num_batches_tracked : (!start, !start_bias, !start_bias, !start_bias, !start_bias, tensor<f32>) -> !start
    %shaped = graph.reshape %first : !start -> !shaped
    %number = graph.constant 1.0 : !second_running_mean
    %number_2 = graph.constant 0.0 : !second_running_mean
    %second = graph.batch_norm %shaped, %number, %number_2 state %second_running_mean, %second_running_var, %second_num_batches_tracked momentum 0.1 epsilon 0.001 : (!shaped, !second_running_mean, !second_running_mean, !second_running_mean, !second_running_mean, tensor<f32>) -> !shaped
    %shaped_2 = graph.reshape %second : !shaped -> !start
    %sum = graph.add %first, %shaped_2 : (!start, !start) -> !start
    %number_3 = graph.constant 0.1 : tensor<f32>
    %sum_2 = graph.add %sum, %number_3 : (!start, tensor<f32>) -> !start
    %shaped_3 = graph.reshape %sum_2 : !start -> !shaped
    %third = graph.batch_norm %shaped_3, %third_weight, %third_bias : (!shaped, !second_running_mean, !second_running_mean) -> !shaped
    %shaped_4 = graph.reshape %third : !shaped -> !start
    %product = graph.multiply %sum, %shaped_4 : (!start, !start) -> !start
    %number_4 = graph.constant 0.25 : tensor<f32>
    %number_5 = graph.constant 0.5 : tensor<f32>
    %number_6 = graph.constant 1.0e-05 : tensor<f32>
    %shaped_5 = graph.reshape %number_5 : tensor<f32> -> !shaped_5
    %shaped_6 = graph.reshape %number_6 : tensor<f32> -> !shaped_5
    %sum_3 = graph.add %shaped_5, %shaped_6 : (!shaped_5, !shaped_5) -> !shaped_5
    %rsqrt = graph.point rsqrt %sum_3 : !shaped_5
    %shaped_7 = graph.reshape %rsqrt : !shaped_5 -> tensor<f32>
    %product_2 = graph.multiply %shaped_7, %fixed_weight : (tensor<f32>, !start_bias) -> !start_bias
    %difference = graph.subtract %product, %number_4 : (!start, tensor<f32>) -> !start
    %product_3 = graph.multiply %difference, %product_2 : (!start, !start_bias) -> !start
    %sum_4 = graph.add %product_3, %fixed_bias : (!start, !start_bias) -> !start
    %last = graph.linear %sum_4, %last_weight, %last_bias transposed : (!start, !last_weight, !last_bias) -> !targets
    %difference_2 = graph.subtract %last, %targets : (!targets, !targets) -> !targets
    %product_4 = graph.multiply %difference_2, %difference_2 : (!targets, !targets) -> !targets
    %mean = graph.reduce mean %product_4 dims [0, 1] : !targets -> tensor<f32>
    graph.return %mean : tensor<f32>
  }
}
