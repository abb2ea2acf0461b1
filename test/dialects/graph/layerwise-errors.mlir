// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// lamb_direction_c1
graph.func @lamb_direction_c1(%w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'graph.lamb_direction' op 'beta2' is 1, but a number from 0 to below 1 is wanted}}
  %d:3 = graph.lamb_direction %w, %w, %w, %w step %s grad_scale %s apply %s {beta1 = 0.9, beta2 = 1.0, epsilon = 1.0e-6, weight_decay = 0.0} : tensor<4xf32>
  graph.return
}

// -----

// lamb_direction_c2
graph.func @lamb_direction_c2(%w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'graph.lamb_direction' op 'epsilon' is 0, but a number above 0 and below 1 is wanted}}
  %d:3 = graph.lamb_direction %w, %w, %w, %w step %s grad_scale %s apply %s {beta1 = 0.9, beta2 = 0.999, epsilon = 0.0, weight_decay = 0.0} : tensor<4xf32>
  graph.return
}

// -----

// lamb_direction_c3
graph.func @lamb_direction_c3(%w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'graph.lamb_direction' op 'weight_decay' is -1, but 0 or more is wanted}}
  %d:3 = graph.lamb_direction %w, %w, %w, %w step %s grad_scale %s apply %s {beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-6, weight_decay = -1.0} : tensor<4xf32>
  graph.return
}

// -----

// trust_ratio_c1
graph.func @trust_ratio_c1(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.trust_ratio' op 'coefficient' is 0, but a number above 0 is wanted}}
  %r = graph.trust_ratio %s, %s coefficient 0.0 decay 0.0
  graph.return
}

// -----

// trust_ratio_c2
graph.func @trust_ratio_c2(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.trust_ratio' op 'decay' is -1, but 0 or more is wanted}}
  %r = graph.trust_ratio %s, %s coefficient 1.0 decay -1.0
  graph.return
}

// -----

// lars_c1
graph.func @lars_c1(%w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'graph.lars' op 'momentum' is 1, but a number from 0 to below 1 is wanted}}
  %p:2 = graph.lars %w, %w, %w lr %s grad_scale %s ratio %s apply %s {momentum = 1.0, weight_decay = 0.0} : tensor<4xf32>
  graph.return
}

// -----

// lars_c2
graph.func @lars_c2(%w: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'graph.lars' op 'weight_decay' is -1, but 0 or more is wanted}}
  %p:2 = graph.lars %w, %w, %w lr %s grad_scale %s ratio %s apply %s {momentum = 0.9, weight_decay = -1.0} : tensor<4xf32>
  graph.return
}

// -----

// whole_matrix_c1
graph.func @whole_matrix_c1(%w: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.whole_matrix' op 'batch' is 1, but 0 to 0 is wanted, as a matrix has two of the 2 dims}}
  %m = graph.whole_matrix %w batch 1 : tensor<4x8xf32>
  graph.return
}

// -----

// whole_matrix_c1
graph.func @whole_matrix_c1_negative(%w: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'graph.whole_matrix' op 'batch' is -1, but 0 to 1 is wanted, as a matrix has two of the 3 dims}}
  %m = graph.whole_matrix %w batch -1 : tensor<2x4x8xf32>
  graph.return
}
