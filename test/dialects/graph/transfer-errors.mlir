// What transfers between stages refuse: one case per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// send_c1
graph.func @send(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.send' op goes from chunk 1 to 1, but two chunks of 0 or more are wanted}}
  graph.send %x chunk 1 to 1 "hidden" : tensor<4xf32>
  graph.return
}

// -----

// send_c2
graph.func @send(%x: tensor<?xf32>) {
  // expected-error @+1 {{'graph.send' op moves 'tensor<?xf32>', but a static shape is wanted}}
  graph.send %x chunk 1 to 2 "hidden" : tensor<?xf32>
  graph.return
}

// -----

// send_c3
graph.func @receive() {
  // expected-error @+1 {{'graph.receive' op has an empty name}}
  %x = graph.receive chunk 1 from 0 "" : tensor<4xf32>
  graph.return
}

// -----

// send_c1, of a receive
graph.func @receive() {
  // expected-error @+1 {{'graph.receive' op goes from chunk -1 to 0, but two chunks of 0 or more are wanted}}
  %x = graph.receive chunk 0 from -1 "hidden" : tensor<4xf32>
  graph.return
}

// -----

// stage_reduce_c1, stages that do not ascend
graph.func @update(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.stage_reduce' op is over stages [3, 0], but two or more are wanted, 0 or more and ascending}}
  %y = graph.stage_reduce sum %x stages [3, 0] <control> : tensor<f32>
  graph.return
}

// -----

// stage_reduce_c1, one stage
graph.func @update(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.stage_reduce' op is over stages [0], but two or more are wanted, 0 or more and ascending}}
  %y = graph.stage_reduce sum %x stages [0] <control> : tensor<f32>
  graph.return
}

// -----

// stage_reduce_c2
graph.func @update(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.stage_reduce' op takes a mean, but a sum or a maximum is wanted}}
  %y = graph.stage_reduce mean %x stages [0, 1] <control> : tensor<f32>
  graph.return
}

// -----

// stage_reduce_c3
graph.func @update(%x: tensor<?xf32>) {
  // expected-error @+1 {{'graph.stage_reduce' op moves 'tensor<?xf32>', but a static shape is wanted}}
  %y = graph.stage_reduce sum %x stages [0, 1] <control> : tensor<?xf32>
  graph.return
}
