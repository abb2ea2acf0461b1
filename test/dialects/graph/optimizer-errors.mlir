// What optimizer ops refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// adamw_c1
graph.func @adamw_c1(%w: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'graph.adamw' op 'beta1' is 1, but a number from 0 to below 1 is wanted}}
  %p:3 = graph.adamw %w, %w, %w, %w lr %lr step %lr grad_scale %lr apply %lr {beta1 = 1.0, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<4xf32>
  graph.return
}

// -----

// adamw_c1_second
graph.func @adamw_c1_second(%w: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'graph.adamw' op 'beta2' is -0.5, but a number from 0 to below 1 is wanted}}
  %p:3 = graph.adamw %w, %w, %w, %w lr %lr step %lr grad_scale %lr apply %lr {beta1 = 0.9, beta2 = -0.5, epsilon = 1.0e-8, weight_decay = 0.1} : tensor<4xf32>
  graph.return
}

// -----

// adamw_c2
graph.func @adamw_c2(%w: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'graph.adamw' op 'epsilon' is 0, but a number above 0 and below 1 is wanted}}
  %p:3 = graph.adamw %w, %w, %w, %w lr %lr step %lr grad_scale %lr apply %lr {beta1 = 0.9, beta2 = 0.95, epsilon = 0.0, weight_decay = 0.1} : tensor<4xf32>
  graph.return
}

// -----

// adamw_c3
graph.func @adamw_c3(%w: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'graph.adamw' op 'weight_decay' is -0.1, but 0 or more is wanted}}
  %p:3 = graph.adamw %w, %w, %w, %w lr %lr step %lr grad_scale %lr apply %lr {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = -0.1} : tensor<4xf32>
  graph.return
}

// -----

// sgd_c1
graph.func @sgd_c1(%w: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'graph.sgd' op 'momentum' is 1, but a number from 0 to below 1 is wanted}}
  %p:2 = graph.sgd %w, %w, %w lr %lr grad_scale %lr apply %lr {momentum = 1.0, weight_decay = 0.0} : tensor<4xf32>
  graph.return
}

// -----

// sgd_c2
graph.func @sgd_c2(%w: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{'graph.sgd' op 'weight_decay' is -1, but 0 or more is wanted}}
  %p:2 = graph.sgd %w, %w, %w lr %lr grad_scale %lr apply %lr {momentum = 0.0, weight_decay = -1.0} : tensor<4xf32>
  graph.return
}

// -----

// clip_scale_c1
graph.func @clip_scale_c1(%n: tensor<f32>) {
  // expected-error @+1 {{'graph.clip_scale' op 'max_norm' is 0, but a number above 0 is wanted}}
  %0 = graph.clip_scale %n max 0.0
  graph.return
}

// -----

// learning_rate_c1
graph.func @learning_rate_c1(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.learning_rate' op 'warmup_steps' is -1, but 0 or more is wanted}}
  %0 = graph.learning_rate constant(%s, %s, %s) warmup -1 min_ratio 0.0
  graph.return
}

// -----

// learning_rate_c2
graph.func @learning_rate_c2(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.learning_rate' op 'min_ratio' is 1.5, but a number from 0 to 1 is wanted}}
  %0 = graph.learning_rate cosine(%s, %s, %s) warmup 0 min_ratio 1.5
  graph.return
}

// -----

// next_loss_scale_c1
graph.func @next_loss_scale_c1(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.next_loss_scale' op 'growth_interval' is 0, but 1 or more is wanted}}
  %n:2 = graph.next_loss_scale %s, %s apply %s growth_interval 0 largest 8.0
  graph.return
}

// -----

// next_loss_scale_c2
graph.func @next_loss_scale_c2(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.next_loss_scale' op 'largest' is 0.5, but a number of 1 or more is wanted}}
  %n:2 = graph.next_loss_scale %s, %s apply %s growth_interval 2000 largest 0.5
  graph.return
}
