// A loss that would be another number when its batch is cut up in another way is refused by dtc-bind-batch, the first pass.
// RUN: dtc-opt %s --dtc-bind-batch=batch=4 -split-input-file -verify-diagnostics

graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  // expected-error @+1 {{makes one value of the samples of a batch by other than a mean or a sum, which micro-batches and ranks can't put together}}
  %0 = graph.reduce max %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %0 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.reduce mean %x dims [0] : tensor<?x8xf32> -> tensor<8xf32>
  // expected-error @+1 {{uses a mean or sum over the batch for each sample, which would be another for every size of a micro-batch}}
  %1 = graph.subtract %x, %0 : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %2 = graph.reduce mean %1 dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{mixes the samples of a batch, which micro-batches and ranks cut into parts}}
  %0 = graph.softmax %x : tensor<?xf32>
  %1 = graph.reduce mean %0 dims [0] : tensor<?xf32> -> tensor<f32>
  graph.return %1 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  %1 = graph.reduce sum %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  // expected-error @+1 {{adds a sum over the batch to what is none; a step of several micro-batches would count the other once for each}}
  %2 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.weighted_mean %x, %w : tensor<?x8xf32>
  // expected-error @+1 {{is not linear in a mean or sum over the batch, so that the results of micro-batches would not make up that of a step}}
  %1 = graph.sqrt %0 : tensor<f32>
  graph.return %1 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.weighted_mean %x, %w : tensor<?x8xf32>
  %1 = graph.reduce sum %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  // expected-error @+1 {{adds a sum over the batch to what is none}}
  %2 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.weighted_mean %x, %w : tensor<?x8xf32>
  // expected-error @+1 {{uses a mean or sum over the batch for each sample}}
  %1 = graph.multiply %x, %0 : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
  %2 = graph.reduce mean %1 dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

// Weighted means that stand together have the same weights, made by the same ops.
graph.func @loss(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>, %t: tensor<?x8xi32>) -> tensor<f32> {
  %counted = graph.counted %t ignoring -100 : tensor<?x8xi32> to tensor<?x8xf32>
  %0 = graph.weighted_mean %x, %w : tensor<?x8xf32>
  // expected-error @+1 {{has other weights than another weighted mean of the loss; means beside each other may have one kind of weights}}
  %1 = graph.weighted_mean %x, %counted : tensor<?x8xf32>
  %2 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

// Weights that depend on parameters are known when forward has run, which is too late.
graph.parameter @p : tensor<8xf32> init ones
graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  // expected-note @+1 {{they depend on this}}
  %p = graph.get @p : tensor<8xf32>
  %w = graph.multiply %x, %p : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // expected-error @+1 {{stands beside other terms of the loss, so that the sum of its weights is needed before the micro-batches run: make the weights of inputs alone, by ops of '@loss'}}
  %0 = graph.weighted_mean %x, %w : tensor<?x8xf32>
  %1 = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  %2 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

graph.func private @mean(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) -> tensor<f32> {
  %0 = graph.weighted_mean %x, %w : tensor<?x8xf32>
  graph.return %0 : tensor<f32>
}
graph.func @loss(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>) -> tensor<f32> {
  // expected-error @+1 {{takes or returns a weighted mean; take it, and what stands beside it in the loss, in '@loss'}}
  %0 = graph.call @mean(%x, %w) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  graph.return %0 : tensor<f32>
}

// -----

// What a repeat carries depends on the batch in one way from its second execution on.
graph.func private @swap(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  graph.return %b, %a : tensor<f32>, tensor<f32>
}
graph.func @loss(%x: tensor<?x8xf32>) -> tensor<f32> {
  %one = graph.constant 1.0 : tensor<f32>
  %mean = graph.reduce mean %x dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  // expected-error @+1 {{carries what depends on the batch in another way in each execution}}
  %0:2 = graph.repeat 2 @swap(%mean, %one) carrying 2 : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  graph.return %0#0 : tensor<f32>
}

// -----

// Pairs of samples: a micro-batch has those within it only.
graph.func @loss(%a: tensor<?x5xf32>, %b: tensor<?x5xf32>) -> tensor<f32> {
  // expected-error @+1 {{pairs the samples of a batch with each other, but micro-batches and ranks see the pairs within their own part of it only; compute what a sample adds to the loss from that sample alone}}
  %0 = graph.matmul %a, %b transposed : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x?xf32>
  %1 = graph.reduce mean %0 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  graph.return %1 : tensor<f32>
}

// -----

graph.func @loss(%a: tensor<?x5xf32>) -> tensor<f32> {
  %0 = graph.reshape %a : tensor<?x5xf32> -> tensor<?x1x5xf32>
  %1 = graph.reshape %a : tensor<?x5xf32> -> tensor<1x?x5xf32>
  // expected-error @+1 {{pairs the samples of a batch with each other}}
  %2 = graph.subtract %0, %1 : (tensor<?x1x5xf32>, tensor<1x?x5xf32>) -> tensor<?x?x5xf32>
  %3 = graph.reduce mean %2 dims [0, 1, 2] : tensor<?x?x5xf32> -> tensor<f32>
  graph.return %3 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{mixes the samples of a batch: a row of 'tensor<?x8xf32>' has 8 elements, and a sample of 'x' has 4; make rows of which a sample has a whole number}}
  %0 = graph.reshape %x : tensor<?x4xf32> -> tensor<?x8xf32>
  %1 = graph.reduce mean %0 dims [0, 1] : tensor<?x8xf32> -> tensor<f32>
  graph.return %1 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x4xf32>) -> tensor<f32> {
  %0 = graph.transpose %x by [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
  // expected-error @+1 {{mixes the samples of a batch: the elements of a sample are not next to each other; bring the batch to the front first (graph.transpose)}}
  %1 = graph.reshape %0 : tensor<4x?xf32> -> tensor<?xf32>
  %2 = graph.reduce mean %1 dims [0] : tensor<?xf32> -> tensor<f32>
  graph.return %2 : tensor<f32>
}

// -----

graph.func @loss(%x: tensor<?x4xf32>, %y: tensor<?xf32>) -> tensor<f32> {
  %0 = graph.reshape %x : tensor<?x4xf32> -> tensor<?xf32>
  // expected-error @+1 {{reads tensors of 4 and of 1 rows a sample together; reshape them so that both have as many}}
  %1 = graph.add %0, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2 = graph.reduce mean %1 dims [0] : tensor<?xf32> -> tensor<f32>
  graph.return %2 : tensor<f32>
}
