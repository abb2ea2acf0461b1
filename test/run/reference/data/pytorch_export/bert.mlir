// Written by dtc.export.
!x = tensor<?x16x24xf32>
!x_2 = tensor<?xf32>
!x_3 = tensor<?x16xf32>
!attention_self_query_weight = tensor<4x6x24xf32>
!attention_self_query_bias = tensor<4x6xf32>
!attention_output_dense_weight = tensor<24x4x6xf32>
!attention_output_dense_bias = tensor<24xf32>
!intermediate_dense_weight = tensor<40x24xf32>
!intermediate_dense_bias = tensor<40xf32>
!output_dense_weight = tensor<24x40xf32>
!query = tensor<?x16x4x6xf32>
!cast = tensor<?xi32>
!shaped = tensor<?x1x1x16xf32>
!dense_2 = tensor<?x16x40xf32>
!input_ids = tensor<?x16xi32>
!bert_embeddings_word_embeddings_weight = tensor<61x24xf32>
!bert_embeddings_token_type_embeddings_weight = tensor<2x24xf32>
!bert_embeddings_position_embeddings_weight = tensor<32x24xf32>
!part_2 = tensor<16x24xf32>
!index = tensor<16xf32>
!cls_predictions_transform_dense_weight = tensor<24x24xf32>
!cls_predictions_bias = tensor<61xf32>
!decoder = tensor<?x16x61xf32>

module @withlabels attributes {graph.sequence_length = 16 : i64, graph.tied = "{\"cls.predictions.decoder.weight\": \"bert.embeddings.word_embeddings.weight\", \"cls.predictions.decoder.bias\": \"cls.predictions.bias\"}"} {
  graph.func private @block(%x: !x, %x_2: !x_2, %x_3: !x_3) -> !x {
    %attention_self_query_weight = graph.param "attention.self.query.weight" normal(0.0, 0.175) stored [[0, 1], [2]] decay : !attention_self_query_weight
    %attention_self_query_bias = graph.param "attention.self.query.bias" normal(-0.0455, 0.173) stored [[0, 1]] : !attention_self_query_bias
    %attention_self_key_weight = graph.param "attention.self.key.weight" normal(0.0, 0.175) stored [[0, 1], [2]] decay : !attention_self_query_weight
    %attention_self_key_bias = graph.param "attention.self.key.bias" normal(0.0, 0.153) stored [[0, 1]] : !attention_self_query_bias
    %attention_self_value_weight = graph.param "attention.self.value.weight" normal(0.0, 0.173) stored [[0, 1], [2]] decay : !attention_self_query_weight
    %attention_self_value_bias = graph.param "attention.self.value.bias" normal(0.0, 0.175) stored [[0, 1]] : !attention_self_query_bias
    %attention_output_dense_weight = graph.param "attention.output.dense.weight" normal(0.0, 0.171) stored [[0], [1, 2]] decay : !attention_output_dense_weight
    %attention_output_dense_bias = graph.param "attention.output.dense.bias" normal(-0.0432, 0.175) : !attention_output_dense_bias
    %attention_output_LayerNorm_weight = graph.param "attention.output.LayerNorm.weight" normal(0.0318, 0.17) : !attention_output_dense_bias
    %attention_output_LayerNorm_bias = graph.param "attention.output.LayerNorm.bias" normal(0.0, 0.182) : !attention_output_dense_bias
    %intermediate_dense_weight = graph.param "intermediate.dense.weight" normal(0.0, 0.172) decay : !intermediate_dense_weight
    %intermediate_dense_bias = graph.param "intermediate.dense.bias" normal(0.0, 0.174) : !intermediate_dense_bias
    %output_dense_weight = graph.param "output.dense.weight" normal(0.0, 0.176) decay : !output_dense_weight
    %output_dense_bias = graph.param "output.dense.bias" normal(0.0224, 0.171) : !attention_output_dense_bias
    %output_LayerNorm_weight = graph.param "output.LayerNorm.weight" normal(0.0278, 0.186) : !attention_output_dense_bias
    %output_LayerNorm_bias = graph.param "output.LayerNorm.bias" normal(0.0, 0.171) : !attention_output_dense_bias
    %query = graph.linear %x, %attention_self_query_weight, %attention_self_query_bias transposed : (!x, !attention_self_query_weight, !attention_self_query_bias) -> !query
    %key = graph.linear %x, %attention_self_key_weight, %attention_self_key_bias transposed : (!x, !attention_self_query_weight, !attention_self_query_bias) -> !query
    %value = graph.linear %x, %attention_self_value_weight, %attention_self_value_bias transposed : (!x, !attention_self_query_weight, !attention_self_query_bias) -> !query
    %cast = graph.cast %x_2 : !x_2 to !cast
    %shaped = graph.reshape %x_3 : !x_3 -> !shaped
    %heads = graph.attention %query, %key, %value lengths %cast bias %shaped : (!query, !query, !query, !cast, !shaped) -> !query
    %dense = graph.linear %heads, %attention_output_dense_weight, %attention_output_dense_bias contract 2 transposed : (!query, !attention_output_dense_weight, !attention_output_dense_bias) -> !x
    %sum = graph.add %x, %dense : (!x, !x) -> !x
    %LayerNorm = graph.layer_norm %sum, %attention_output_LayerNorm_weight, %attention_output_LayerNorm_bias epsilon 1.0e-12 : (!x, !attention_output_dense_bias, !attention_output_dense_bias) -> !x
    %dense_2 = graph.linear %LayerNorm, %intermediate_dense_weight, %intermediate_dense_bias transposed : (!x, !intermediate_dense_weight, !intermediate_dense_bias) -> !dense_2
    %active = graph.gelu erf %dense_2 : !dense_2
    %dense_3 = graph.linear %active, %output_dense_weight, %output_dense_bias transposed : (!dense_2, !output_dense_weight, !attention_output_dense_bias) -> !x
    %sum_2 = graph.add %LayerNorm, %dense_3 : (!x, !x) -> !x
    %LayerNorm_2 = graph.layer_norm %sum_2, %output_LayerNorm_weight, %output_LayerNorm_bias epsilon 1.0e-12 : (!x, !attention_output_dense_bias, !attention_output_dense_bias) -> !x
    graph.return %LayerNorm_2 : !x
  }

  graph.func @loss(%input_ids: !input_ids, %attention_mask: !input_ids, %labels: !input_ids) -> tensor<f32> {
    %bert_embeddings_word_embeddings_weight = graph.param "bert.embeddings.word_embeddings.weight" normal(0.0, 0.174) decay : !bert_embeddings_word_embeddings_weight
    %bert_embeddings_token_type_embeddings_weight = graph.param "bert.embeddings.token_type_embeddings.weight" normal(0.0, 0.169) decay : !bert_embeddings_token_type_embeddings_weight
    %bert_embeddings_position_embeddings_weight = graph.param "bert.embeddings.position_embeddings.weight" normal(0.0, 0.173) decay : !bert_embeddings_position_embeddings_weight
    %bert_embeddings_LayerNorm_weight = graph.param "bert.embeddings.LayerNorm.weight" normal(-0.0976, 0.137) : !attention_output_dense_bias
    %bert_embeddings_LayerNorm_bias = graph.param "bert.embeddings.LayerNorm.bias" normal(0.0, 0.167) : !attention_output_dense_bias
    %part = graph.slice %bert_embeddings_token_type_embeddings_weight dim 0 start 0 size 1 squeeze : !bert_embeddings_token_type_embeddings_weight -> !attention_output_dense_bias
    %part_2 = graph.slice %bert_embeddings_position_embeddings_weight dim 0 start 0 size 16 : !bert_embeddings_position_embeddings_weight -> !part_2
    %word_embeddings = graph.embedding %bert_embeddings_word_embeddings_weight, %input_ids padding 0 : (!bert_embeddings_word_embeddings_weight, !input_ids) -> !x
    %sum = graph.add %word_embeddings, %part : (!x, !attention_output_dense_bias) -> !x
    %sum_2 = graph.add %sum, %part_2 : (!x, !part_2) -> !x
    %LayerNorm = graph.layer_norm %sum_2, %bert_embeddings_LayerNorm_weight, %bert_embeddings_LayerNorm_bias epsilon 1.0e-12 : (!x, !attention_output_dense_bias, !attention_output_dense_bias) -> !x
    %cast = graph.cast %attention_mask : !input_ids to !x_3
    %number = graph.constant 0.0 : tensor<f32>
    %mask = graph.compare ne %cast, %number : (!x_3, tensor<f32>) -> !x_3
    %index = graph.iota : !index
    %number_2 = graph.constant 1.0 : tensor<f32>
    %sum_3 = graph.add %index, %number_2 : (!index, tensor<f32>) -> !index
    %product = graph.multiply %mask, %sum_3 : (!x_3, !index) -> !x_3
    %mean = graph.reduce max %product dims [1] : !x_3 -> !x_2
    %difference = graph.subtract %number_2, %mask : (tensor<f32>, !x_3) -> !x_3
    %scale = graph.scale %difference by -1.0e+30 : !x_3
    %layers = graph.repeat 2 @block(%LayerNorm, %mean, %scale) under "bert.encoder.layer.{}" : (!x, !x_2, !x_3) -> !x
    %cls_predictions_transform_dense_weight = graph.param "cls.predictions.transform.dense.weight" normal(0.0, 0.175) decay : !cls_predictions_transform_dense_weight
    %cls_predictions_transform_dense_bias = graph.param "cls.predictions.transform.dense.bias" normal(0.0886, 0.19) : !attention_output_dense_bias
    %cls_predictions_transform_LayerNorm_weight = graph.param "cls.predictions.transform.LayerNorm.weight" normal(0.0, 0.173) : !attention_output_dense_bias
    %cls_predictions_transform_LayerNorm_bias = graph.param "cls.predictions.transform.LayerNorm.bias" normal(0.0179, 0.173) : !attention_output_dense_bias
    %cls_predictions_bias = graph.param "cls.predictions.bias" normal(0.0, 0.175) : !cls_predictions_bias
    %dense = graph.linear %layers, %cls_predictions_transform_dense_weight, %cls_predictions_transform_dense_bias transposed : (!x, !cls_predictions_transform_dense_weight, !attention_output_dense_bias) -> !x
    %active = graph.gelu erf %dense : !x
    %LayerNorm_2 = graph.layer_norm %active, %cls_predictions_transform_LayerNorm_weight, %cls_predictions_transform_LayerNorm_bias epsilon 1.0e-12 : (!x, !attention_output_dense_bias, !attention_output_dense_bias) -> !x
    %decoder = graph.linear %LayerNorm_2, %bert_embeddings_word_embeddings_weight, %cls_predictions_bias transposed : (!x, !bert_embeddings_word_embeddings_weight, !cls_predictions_bias) -> !decoder
    %loss = graph.cross_entropy %decoder, %labels ignoring -100 mean : (!decoder, !input_ids) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
