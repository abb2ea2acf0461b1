// What the ops of a mixture of experts refuse: one function per constraint.
// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// moe_router_c1
graph.func @moe_router_c1(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op 'logits' has 2 dims, but 3 are wanted}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c2_sequence
graph.func @moe_router_c2_sequence(%l: tensor<?x?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op dim 1 of 'logits' is dynamic; only the batch may be}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x?x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c2_experts
graph.func @moe_router_c2_experts(%l: tensor<?x128x?xf32>) {
  // expected-error @+1 {{'graph.moe_router' op dim 2 of 'logits' is dynamic; only the batch may be}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x?xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c3
graph.func @moe_router_c3(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op chooses the top 9, but dim 2 of 'logits' is 8}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 9 group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c3_zero
graph.func @moe_router_c3_zero(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op chooses the top 0, but dim 2 of 'logits' is 8}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 0 group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c4
graph.func @moe_router_c4(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op 'group' is 48, but a divisor of dim 1 of 'logits', which is 128, is wanted}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 group 48 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c4_zero
graph.func @moe_router_c4_zero(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op 'group' is 0, but a divisor of dim 1 of 'logits', which is 128, is wanted}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 group 0 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c5
graph.func @moe_router_c5(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op dim 2 of 'weights' is 3, but 'top' is 2}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x3xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c5_element
graph.func @moe_router_c5_element(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op 'weights' has element type 'bf16', but 'logits' has 'f32'}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xbf16>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c6
graph.func @moe_router_c6(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op dim 1 of 'experts' is 64, but dim 1 of 'logits' is 128}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x64x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c6_element
graph.func @moe_router_c6_element(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op 'slots' has element type 'i64', but i32 is wanted}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi64>, tensor<?x8xf32>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_c7
graph.func @moe_router_c7(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op dim 1 of 'importance' is 4, but dim 2 of 'logits' is 8}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xf32>, tensor<?x4xf32>)
  graph.return
}

// -----

// moe_router_c7_element
graph.func @moe_router_c7_element(%l: tensor<?x128x8xf32>) {
  // expected-error @+1 {{'graph.moe_router' op 'load' has element type 'bf16', but f32 is wanted}}
  %w, %e, %s, %load, %i = graph.moe_router %l top 2 normalised group 64 : (tensor<?x128x8xf32>) -> (tensor<?x128x2xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x8xbf16>, tensor<?x8xf32>)
  graph.return
}

// -----

// moe_router_grad_c1
graph.func @moe_router_grad_c1(%l: tensor<?x8xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op 'logits' has 2 dims, but 3 are wanted}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c2
graph.func @moe_router_grad_c2(%l: tensor<?x128x8xf32>, %e: tensor<?x64x2xi32>, %w: tensor<?x128x2xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op dim 1 of 'experts' is 64, but dim 1 of 'logits' is 128}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x128x8xf32>, tensor<?x64x2xi32>, tensor<?x128x2xf32>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c3
graph.func @moe_router_grad_c3(%l: tensor<?x128x8xf32>, %e: tensor<?x128x2xi32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op has neither 'weights' nor 'importance', so nothing flows back}}
  %0 = graph.moe_router_grad %l, %e : (tensor<?x128x8xf32>, tensor<?x128x2xi32>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c4
graph.func @moe_router_grad_c4(%l: tensor<?x128x8xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x3xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op dim 2 of 'dweights' is 3, but dim 2 of 'experts' is 2}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x3xf32>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c4_element
graph.func @moe_router_grad_c4_element(%l: tensor<?x128x8xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x2xbf16>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op 'dweights' has element type 'bf16', but 'logits' has 'f32'}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xbf16>, tensor<?x8xf32>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c5
graph.func @moe_router_grad_c5(%l: tensor<?x128x8xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>, %i: tensor<?x9xf32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op dim 1 of 'dimportance' is 9, but dim 2 of 'logits' is 8}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>, tensor<?x9xf32>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c5_element
graph.func @moe_router_grad_c5_element(%l: tensor<?x128x8xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>, %i: tensor<?x8xbf16>) {
  // expected-error @+1 {{'graph.moe_router_grad' op 'dimportance' has element type 'bf16', but f32 is wanted}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>, tensor<?x8xbf16>) -> tensor<?x128x8xf32>
  graph.return
}

// -----

// moe_router_grad_c6
graph.func @moe_router_grad_c6(%l: tensor<?x128x8xf32>, %e: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_router_grad' op dim 2 of 'result' is 9, but dim 2 of 'logits' is 8}}
  %0 = graph.moe_router_grad %l, %e weights(%w) importance(%i) : (tensor<?x128x8xf32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>, tensor<?x8xf32>) -> tensor<?x128x9xf32>
  graph.return
}

// -----

// moe_balance_loss_c1
graph.func @moe_balance_loss_c1(%l: tensor<8xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_balance_loss' op 'load' has 1 dims, but 2 are wanted}}
  %0 = graph.moe_balance_loss %l, %i tokens 128 coefficient 0.02 : (tensor<8xf32>, tensor<?x8xf32>) -> tensor<?xf32>
  graph.return
}

// -----

// moe_balance_loss_c1_element
graph.func @moe_balance_loss_c1_element(%l: tensor<?x8xbf16>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_balance_loss' op 'load' has element type 'bf16', but f32 is wanted}}
  %0 = graph.moe_balance_loss %l, %i tokens 128 coefficient 0.02 : (tensor<?x8xbf16>, tensor<?x8xf32>) -> tensor<?xf32>
  graph.return
}

// -----

// moe_balance_loss_c2
graph.func @moe_balance_loss_c2(%l: tensor<?x8xf32>, %i: tensor<?x4xf32>) {
  // expected-error @+1 {{'graph.moe_balance_loss' op dim 1 of 'importance' is 4, but dim 1 of 'load' is 8}}
  %0 = graph.moe_balance_loss %l, %i tokens 128 coefficient 0.02 : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?xf32>
  graph.return
}

// -----

// moe_balance_loss_c3
graph.func @moe_balance_loss_c3(%l: tensor<?x8xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_balance_loss' op 'tokens' is 0, but 1 or more is wanted}}
  %0 = graph.moe_balance_loss %l, %i tokens 0 coefficient 0.02 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?xf32>
  graph.return
}

// -----

// moe_balance_loss_c4
graph.func @moe_balance_loss_c4(%l: tensor<?x8xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_balance_loss' op 'coefficient' is -0.5, but 0 or more is wanted}}
  %0 = graph.moe_balance_loss %l, %i tokens 128 coefficient -0.5 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?xf32>
  graph.return
}

// -----

// moe_balance_loss_c5
graph.func @moe_balance_loss_c5(%l: tensor<?x8xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{'graph.moe_balance_loss' op 'result' has 2 dims, but 1 are wanted}}
  %0 = graph.moe_balance_loss %l, %i tokens 128 coefficient 0.02 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  graph.return
}

// -----

// moe_dispatch_c1
graph.func @moe_dispatch_c1(%x: tensor<128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'tokens' has 2 dims, but 3 are wanted}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c1_dynamic
graph.func @moe_dispatch_c1_dynamic(%x: tensor<?x?x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 1 of 'tokens' is dynamic; only the batch may be}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x?x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c2
graph.func @moe_dispatch_c2(%x: tensor<?x128x16xf32>, %e: tensor<?x64x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 1 of 'experts' is 64, but dim 1 of 'tokens' is 128}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x64x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c2_element
graph.func @moe_dispatch_c2_element(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi64>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'experts' has element type 'i64', but i32 is wanted}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi64>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c3
graph.func @moe_dispatch_c3(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x1xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 2 of 'slots' is 1, but dim 2 of 'experts' is 2}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x1xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c4
graph.func @moe_dispatch_c4(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x1xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 2 of 'weights' is 1, but dim 2 of 'experts' is 2}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x1xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c5
graph.func @moe_dispatch_c5(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'group' is 60, but a divisor of dim 1 of 'tokens', which is 128, is wanted}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 60 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c6
graph.func @moe_dispatch_c6(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'capacity' is 0, but a number above 0 is wanted}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 0.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c6_large
graph.func @moe_dispatch_c6_large(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'capacity' is 1e+300, which gives an expert more rows than 64 bits count}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0e300 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c7
graph.func @moe_dispatch_c7(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 2 of 'result' is 32, but the capacity of 2 groups is 40}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.25 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c7_columns
graph.func @moe_dispatch_c7_columns(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 3 of 'result' is 8, but dim 2 of 'tokens' is 16}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x8xf32>
  graph.return
}

// -----

// moe_dispatch_c7_rank
graph.func @moe_dispatch_c7_rank(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'result' has 3 dims, but 4 are wanted}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c7_experts
graph.func @moe_dispatch_c7_experts(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op dim 0 of 'result' is dynamic; only the batch may be}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x?x32x16xf32>
  graph.return
}

// -----

// moe_dispatch_c7_element
graph.func @moe_dispatch_c7_element(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op 'result' has element type 'bf16', but 'tokens' has 'f32'}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xbf16>
  graph.return
}

// -----

// moe_dispatch_c8
graph.func @moe_dispatch_c8(%x: tensor<?x128x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_dispatch' op entry 0 of 'windows' is about loop 1, whose index does not matter to this op}}
  %0 = graph.moe_dispatch %x to %e at %s weighted %w group 64 capacity 1.0 {windows = [#graph.window<loop = 1, local = 2, global = 8, axes = [0]>]} : (tensor<?x128x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<8x?x32x16xf32>
  graph.return
}

// -----

// moe_combine_c1
graph.func @moe_combine_c1(%y: tensor<8x?x32x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_combine' op 'result' has 2 dims, but 3 are wanted}}
  %0 = graph.moe_combine %y from %e at %s weighted %w group 64 capacity 1.0 : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<128x16xf32>
  graph.return
}

// -----

// moe_combine_c4
graph.func @moe_combine_c4(%y: tensor<8x?x32x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xbf16>) {
  // expected-error @+1 {{'graph.moe_combine' op 'weights' has element type 'bf16', but 'result' has 'f32'}}
  %0 = graph.moe_combine %y from %e at %s weighted %w group 64 capacity 1.0 : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xbf16>) -> tensor<?x128x16xf32>
  graph.return
}

// -----

// moe_combine_c7
graph.func @moe_combine_c7(%y: tensor<8x?x30x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_combine' op dim 2 of 'rows' is 30, but the capacity of 2 groups is 32}}
  %0 = graph.moe_combine %y from %e at %s weighted %w group 64 capacity 1.0 : (tensor<8x?x30x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
  graph.return
}

// -----

// moe_combine_c7_batch
graph.func @moe_combine_c7_batch(%y: tensor<8x4x32x16xf32>, %e: tensor<?x128x2xi32>, %s: tensor<?x128x2xi32>, %w: tensor<?x128x2xf32>) {
  // expected-error @+1 {{'graph.moe_combine' op dim 1 of 'rows' is 4, but dim 0 of 'result' is ?}}
  %0 = graph.moe_combine %y from %e at %s weighted %w group 64 capacity 1.0 : (tensor<8x4x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x2xf32>) -> tensor<?x128x16xf32>
  graph.return
}

// -----

// moe_weight_grad_c4
graph.func @moe_weight_grad_c4(%y: tensor<8x?x32x16xf32>, %e: tensor<?x128x2xi32>, %x: tensor<?x128x16xf32>) {
  // expected-error @+1 {{'graph.moe_weight_grad' op dim 2 of 'result' is 3, but dim 2 of 'experts' is 2}}
  %0 = graph.moe_weight_grad %y from %e at %e, %x group 64 capacity 1.0 : (tensor<8x?x32x16xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x16xf32>) -> tensor<?x128x3xf32>
  graph.return
}

// -----

// moe_weight_grad_c7
graph.func @moe_weight_grad_c7(%y: tensor<8x?x32x12xf32>, %e: tensor<?x128x2xi32>, %x: tensor<?x128x16xf32>) {
  // expected-error @+1 {{'graph.moe_weight_grad' op dim 3 of 'rows' is 12, but dim 2 of 'tokens' is 16}}
  %0 = graph.moe_weight_grad %y from %e at %e, %x group 64 capacity 1.0 : (tensor<8x?x32x12xf32>, tensor<?x128x2xi32>, tensor<?x128x2xi32>, tensor<?x128x16xf32>) -> tensor<?x128x2xf32>
  graph.return
}

// -----

// expert_linear_c1
graph.func @expert_linear_c1(%x: tensor<8xf32>, %w: tensor<8x48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op 'x' has 1 dims, but at least 2 are wanted}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8xf32>, tensor<8x48x16xf32>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_c2
graph.func @expert_linear_c2(%x: tensor<8x?x40x16xf32>, %w: tensor<48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op 'weight' has 2 dims, but 3 are wanted}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8x?x40x16xf32>, tensor<48x16xf32>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_c3
graph.func @expert_linear_c3(%x: tensor<8x?x40x16xf32>, %w: tensor<8x48x15xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op dim 2 of 'weight' is 15, but dim 3 of 'x' is 16}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8x?x40x16xf32>, tensor<8x48x15xf32>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_c3_experts
graph.func @expert_linear_c3_experts(%x: tensor<8x?x40x16xf32>, %w: tensor<4x48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op dim 0 of 'weight' is 4, but dim 0 of 'x' is 8}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8x?x40x16xf32>, tensor<4x48x16xf32>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_c3_plain
graph.func @expert_linear_c3_plain(%x: tensor<8x?x40x16xf32>, %w: tensor<8x48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op dim 1 of 'weight' is 48, but dim 3 of 'x' is 16}}
  %0 = graph.expert_linear %x, %w  : (tensor<8x?x40x16xf32>, tensor<8x48x16xf32>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_c4
graph.func @expert_linear_c4(%x: tensor<8x?x40x16xf32>, %w: tensor<8x48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op dim 3 of 'result' is 40, but dim 1 of 'weight' is 48}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8x?x40x16xf32>, tensor<8x48x16xf32>) -> tensor<8x?x40x40xf32>
  graph.return
}

// -----

// expert_linear_c5
graph.func @expert_linear_c5(%x: tensor<8x?x40x16xf32>, %w: tensor<8x48x16xbf16>) {
  // expected-error @+1 {{'graph.expert_linear' op 'weight' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8x?x40x16xf32>, tensor<8x48x16xbf16>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_c6
graph.func @expert_linear_c6(%x: tensor<8x?x40x16xf32>, %w: tensor<8x48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.expert_linear %x, %w transposed : (tensor<8x?x40x16xf32>, tensor<8x48x16xf32>) -> tensor<8x?x40x48xbf16>
  graph.return
}

// -----

// expert_linear_c7
graph.func @expert_linear_c7(%x: tensor<8x?x40x16xf32>, %w: tensor<8x48x16xf32>) {
  // expected-error @+1 {{'graph.expert_linear' op 'fill' is 0, but a number above 0 and at most 1 is wanted}}
  %0 = graph.expert_linear %x, %w transposed fill 0.0 : (tensor<8x?x40x16xf32>, tensor<8x48x16xf32>) -> tensor<8x?x40x48xf32>
  graph.return
}

// -----

// expert_linear_weight_grad_c1
graph.func @expert_linear_weight_grad_c1(%x: tensor<8xf32>, %d: tensor<8x?x40x48xf32>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op 'x' has 1 dims, but at least 2 are wanted}}
  %0 = graph.expert_linear_weight_grad %x, %d transposed : (tensor<8xf32>, tensor<8x?x40x48xf32>) -> tensor<8x48x16xf32>
  graph.return
}

// -----

// expert_linear_weight_grad_c2
graph.func @expert_linear_weight_grad_c2(%x: tensor<8x?x40x16xf32>, %d: tensor<8x?x41x48xf32>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op dim 2 of 'dy' is 41, but dim 2 of 'x' is 40}}
  %0 = graph.expert_linear_weight_grad %x, %d transposed : (tensor<8x?x40x16xf32>, tensor<8x?x41x48xf32>) -> tensor<8x48x16xf32>
  graph.return
}

// -----

// expert_linear_weight_grad_c2_rank
graph.func @expert_linear_weight_grad_c2_rank(%x: tensor<8x?x40x16xf32>, %d: tensor<8x41x48xf32>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op 'dy' has 3 dims, but 4 are wanted}}
  %0 = graph.expert_linear_weight_grad %x, %d transposed : (tensor<8x?x40x16xf32>, tensor<8x41x48xf32>) -> tensor<8x48x16xf32>
  graph.return
}

// -----

// expert_linear_weight_grad_c3
graph.func @expert_linear_weight_grad_c3(%x: tensor<8x?x40x16xf32>, %d: tensor<8x?x40x48xf32>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op dim 1 of 'result' is 48, but dim 3 of 'x' is 16}}
  %0 = graph.expert_linear_weight_grad %x, %d  : (tensor<8x?x40x16xf32>, tensor<8x?x40x48xf32>) -> tensor<8x48x16xf32>
  graph.return
}

// -----

// expert_linear_weight_grad_c4
graph.func @expert_linear_weight_grad_c4(%x: tensor<8x?x40x16xf32>, %d: tensor<8x?x40x48xbf16>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op 'dy' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.expert_linear_weight_grad %x, %d transposed : (tensor<8x?x40x16xf32>, tensor<8x?x40x48xbf16>) -> tensor<8x48x16xf32>
  graph.return
}

// -----

// expert_linear_weight_grad_c5
graph.func @expert_linear_weight_grad_c5(%x: tensor<8x?x40x16xf32>, %d: tensor<8x?x40x48xf32>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op 'result' has element type 'bf16', but 'x' has 'f32'}}
  %0 = graph.expert_linear_weight_grad %x, %d transposed : (tensor<8x?x40x16xf32>, tensor<8x?x40x48xf32>) -> tensor<8x48x16xbf16>
  graph.return
}

// -----

// expert_linear_weight_grad_c6
graph.func @expert_linear_weight_grad_c6(%x: tensor<8x?x40x16xf32>, %d: tensor<8x?x40x48xf32>) {
  // expected-error @+1 {{'graph.expert_linear_weight_grad' op 'fill' is 1.5, but a number above 0 and at most 1 is wanted}}
  %0 = graph.expert_linear_weight_grad %x, %d transposed fill 1.5 : (tensor<8x?x40x16xf32>, tensor<8x?x40x48xf32>) -> tensor<8x48x16xf32>
  graph.return
}
