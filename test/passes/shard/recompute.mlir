// What layers keep for their backward pass, and what that runs again.
// RUN: split-file %s %t
// RUN: sed 's/HOW/full/' %t/step.mlir > %t/full.mlir
// RUN: sed 's/HOW/selective/' %t/step.mlir > %t/selective.mlir
// RUN: sed 's/HOW/selective+linear/' %t/step.mlir > %t/linear.mlir
// RUN: sed 's/HOW/selective+attention/' %t/step.mlir > %t/attention.mlir
// RUN: sed 's/HOW/none/' %t/step.mlir > %t/none.mlir
// RUN: dtc-opt %t/full.mlir --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse --dtc-recompute -o %t/full-step.mlir
// RUN: FileCheck %s --check-prefix=FULL < %t/full-step.mlir
// RUN: dtc-opt %t/selective.mlir --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse --dtc-recompute -o %t/selective-step.mlir
// RUN: FileCheck %s --check-prefix=SELECTIVE < %t/selective-step.mlir
// RUN: dtc-opt %t/linear.mlir --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse --dtc-recompute -o %t/linear-step.mlir
// RUN: FileCheck %s --check-prefix=LINEAR < %t/linear-step.mlir
// RUN: dtc-opt %t/attention.mlir --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse --dtc-recompute -o %t/attention-step.mlir
// RUN: FileCheck %s --check-prefix=ATTENTION < %t/attention-step.mlir
// RUN: dtc-opt %t/none.mlir --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse --dtc-recompute | FileCheck %s --check-prefix=NONE
// RUN: dtc-opt %t/full-step.mlir --dtc-inline-blocks --canonicalize --cse | FileCheck %s --check-prefix=INLINED
// RUN: dtc-opt %t/gathered.mlir --dtc-recompute | FileCheck %s --check-prefix=GATHERED
// RUN: dtc-opt %t/handed-on.mlir --dtc-differentiate --dtc-add-optimizer --canonicalize --cse --dtc-place --dtc-partition --canonicalize --cse --dtc-recompute | FileCheck %s --check-prefix=HANDED-ON
// RUN: not dtc-opt %t/nested.mlir --dtc-recompute 2>&1 | FileCheck %s --check-prefix=NESTED

//--- step.mlir
// A layer with a norm, a product before and one behind gelu, dropout, on two tensor-parallel ranks; once repeated, once called.
shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
graph.parameter @"h.{}.norm" : tensor<8xf32> init ones repeats 3
graph.parameter @"h.{}.up" : tensor<8x16xf32> init normal(0.0, 0.02) repeats 3
graph.parameter @"h.{}.down" : tensor<16x8xf32> init normal(0.0, 0.02) repeats 3
graph.parameter @last.norm : tensor<8xf32> init ones
graph.parameter @last.up : tensor<8x16xf32> init normal(0.0, 0.02)
graph.parameter @last.down : tensor<16x8xf32> init normal(0.0, 0.02)
graph.func private @layer(%x: tensor<4x6x8xf32>, %norm: tensor<8xf32>, %up: tensor<8x16xf32>, %down: tensor<16x8xf32>) -> tensor<4x6x8xf32> {
  %n, %r = graph.rms_norm %x, %norm epsilon 1.0e-5 : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
  %u = graph.linear %n, %up : (tensor<4x6x8xf32>, tensor<8x16xf32>) -> tensor<4x6x16xf32>
  %g = graph.gelu tanh %u : tensor<4x6x16xf32>
  %d = graph.linear %g, %down : (tensor<4x6x16xf32>, tensor<16x8xf32>) -> tensor<4x6x8xf32>
  %seed = graph.input seed : tensor<i64>
  %step = graph.input step : tensor<f32>
  %m = graph.dropout %d p 0.1 id 1 key(%seed, %step) : tensor<4x6x8xf32>
  %y = graph.add %x, %m : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  graph.return %y : tensor<4x6x8xf32>
}
graph.func @loss(%x: tensor<4x6x8xf32> {graph.input = "x"}) -> tensor<f32> {
  %norms = graph.get @"h.{}.norm" : !graph.stack<3 x tensor<8xf32>>
  %ups = graph.get @"h.{}.up" : !graph.stack<3 x tensor<8x16xf32>>
  %downs = graph.get @"h.{}.down" : !graph.stack<3 x tensor<16x8xf32>>
  %y = graph.repeat 3 @layer(%x, %norms, %ups, %downs) {graph.recompute = "HOW"} : (tensor<4x6x8xf32>, !graph.stack<3 x tensor<8xf32>>, !graph.stack<3 x tensor<8x16xf32>>, !graph.stack<3 x tensor<16x8xf32>>) -> tensor<4x6x8xf32>
  %norm = graph.get @last.norm : tensor<8xf32>
  %up = graph.get @last.up : tensor<8x16xf32>
  %down = graph.get @last.down : tensor<16x8xf32>
  %z = graph.call @layer(%y, %norm, %up, %down) instance 3 {graph.recompute = "HOW"} : (tensor<4x6x8xf32>, tensor<8xf32>, tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<4x6x8xf32>
  %m = graph.reduce sum %z dims [0, 1, 2] : tensor<4x6x8xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}

// A repeat returns what it hands on and keeps what each execution was given; a call's argument is there anyway.
// FULL-LABEL: graph.func @microbatch
// FULL:       %[[F:.*]]:2 = graph.repeat 3 @layer_forward.full({{.*}}) {graph.recompute = "full"} : {{.*}} -> (tensor<4x6x8xf32>, !graph.stack<3 x tensor<4x6x8xf32>>)
// FULL:       graph.call @layer_forward.1.full(%[[F]]#0, {{.*}}) -> tensor<4x6x8xf32>
// FULL:       graph.call @layer_backward.1.full({{.*}}%[[F]]#0{{.*}}) instance 3
// FULL:       graph.repeat 3 reversed @layer_backward.full({{.*}}%[[F]]#1{{.*}})
// Functions that nobody calls any more are gone.
// FULL-NOT:   @layer_forward(
// FULL-LABEL: graph.func private @layer_backward.full
// FULL-SAME:  (%[[DY:[^:]*]]: tensor<4x6x8xf32>
// FULL:       %[[X:.*]] = graph.again %{{.*}} : tensor<4x6x8xf32>
// FULL:       %[[N:.*]], %[[R:.*]] = graph.rms_norm %[[X]], %[[W:[^ ]*]] :
// FULL:       %[[U:.*]] = graph.linear %[[N]]
// FULL:       %[[G:.*]] = graph.gelu tanh %[[U]]
// FULL:       graph.linear_weight_grad %[[G]]
// FULL:       graph.gelu_grad tanh %[[U]]
// FULL:       graph.linear_weight_grad %[[N]]
// What backward has no use for does not run again: the second product and its sum over the ranks.
// FULL:       shard.all_reduce
// FULL-NOT:   shard.all_reduce
// FULL:       graph.return

// The product is kept; norm and gelu are cheap.
// SELECTIVE-LABEL: graph.func @microbatch
// SELECTIVE:       graph.repeat 3 @layer_forward.selective({{.*}}) -> (tensor<4x6x8xf32>, !graph.stack<3 x tensor<4x6x8xf32>>, !graph.stack<3 x tensor<4x6x8xf32>>)
// SELECTIVE-LABEL: graph.func private @layer_forward.selective
// SELECTIVE:       %[[PRODUCT:.*]] = graph.linear
// SELECTIVE:       graph.return %{{.*}}, %[[PRODUCT]], %
// SELECTIVE-LABEL: graph.func private @layer_backward.selective
// SELECTIVE:       %[[U:.*]] = graph.again %[[KEPT:.*]] : tensor<4x6x8xf32>
// SELECTIVE:       %[[G:.*]] = graph.gelu tanh %[[U]]
// SELECTIVE:       graph.linear_weight_grad %[[G]]
// SELECTIVE:       graph.gelu_grad tanh %[[KEPT]]
// SELECTIVE:       graph.rms_norm

// With products nothing is left to keep but the layer's input; there is no attention, so that keeping it makes no difference.
// LINEAR-LABEL: graph.func @microbatch
// LINEAR:       graph.repeat 3 @layer_forward.selective.linear({{.*}}) {graph.recompute = "selective+linear"} : {{.*}} -> (tensor<4x6x8xf32>, !graph.stack<3 x tensor<4x6x8xf32>>)
// LINEAR-LABEL: graph.func private @layer_backward.selective.linear
// LINEAR:       %[[N:.*]], %{{.*}} = graph.rms_norm
// LINEAR:       %[[U:.*]] = graph.linear %[[N]]
// LINEAR:       graph.gelu tanh %[[U]]
// ATTENTION-LABEL: graph.func @microbatch
// ATTENTION:       graph.repeat 3 @layer_forward.selective.attention({{.*}}) {{.*}} -> (tensor<4x6x8xf32>, !graph.stack<3 x tensor<4x6x8xf32>>, !graph.stack<3 x tensor<4x6x8xf32>>)
// ATTENTION-LABEL: graph.func private @layer_backward.selective.attention
// ATTENTION:       graph.again %{{.*}} : tensor<4x6x8xf32>
// ATTENTION-NEXT:  graph.gelu tanh

// NONE-NOT: graph.again
// NONE-NOT: @layer_forward.full

// Once all layers are in one function nothing is merged with what the forward pass computed: 4 layers, twice.
// INLINED-LABEL:   graph.func @microbatch
// INLINED-COUNT-8: graph.rms_norm %
// INLINED-NOT:     graph.rms_norm %
// INLINED-LABEL:   graph.func @update

//--- gathered.mlir
// A parameter that rests split is gathered once for all that backward does with it, for what runs again, too.
shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"], graph.axis_roles = ["data"]}
graph.parameter @w : tensor<8x8xf32> init ones placement <[shard(0)]> in_use <[replicate]>
graph.func @microbatch(%x: tensor<4x8xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}, tensor<8x8xf32> {graph.gradient_of = @w}) {
  %w = graph.get @w : tensor<4x8xf32>
  %one = graph.constant 1.0 : tensor<4x8xf32>
  %y:3 = graph.call @forward(%x, %w) {graph.recompute = "full"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  %l = graph.reduce sum %y#0 dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %dx, %dw = graph.call @backward(%y#1, %y#2, %w, %one) {graph.recompute = "full"} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>)
  graph.return %l, %dw : tensor<f32>, tensor<8x8xf32>
}
graph.func private @forward(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %whole = shard.all_gather %w on @mesh grid_axes = [0] gather_axis = 0 {graph.communication = #graph.communication<parameter async use 1>} : tensor<4x8xf32> -> tensor<8x8xf32>
  %e = graph.exp %x : tensor<4x8xf32>
  %u = graph.linear %e, %whole : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = graph.exp %u : tensor<4x8xf32>
  graph.return %y, %y, %e : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
// GATHERED-LABEL: graph.func private @backward.full
// GATHERED:       %[[WHOLE:.*]] = shard.all_gather {{.*}}use 2
// GATHERED:       graph.linear %{{.*}}, %[[WHOLE]] :
// GATHERED-NOT:   shard.all_gather
// GATHERED:       graph.linear %{{.*}}, %[[WHOLE]] transposed
graph.func private @backward(%y: tensor<4x8xf32>, %e: tensor<4x8xf32>, %w: tensor<4x8xf32>, %dy: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  %du = graph.multiply %dy, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %dw = graph.linear_weight_grad %e, %du : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %whole = shard.all_gather %w on @mesh grid_axes = [0] gather_axis = 0 {graph.communication = #graph.communication<parameter async use 2>} : tensor<4x8xf32> -> tensor<8x8xf32>
  %de = graph.linear %du, %whole transposed : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %dx = graph.multiply %de, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.return %dx, %dw : tensor<4x8xf32>, tensor<8x8xf32>
}

//--- handed-on.mlir
// Backward reads no argument of the layer, but what is made of one. To make it again each execution keeps what it was handed; what the
// layers hand on is only there from the last one.
// HANDED-ON-LABEL: graph.func @microbatch
// HANDED-ON:       %[[F:.*]]:2 = graph.repeat 3 @layer_forward.full({{.*}} -> (tensor<4x8xf32>, !graph.stack<3 x tensor<4x8xf32>>)
// HANDED-ON:       graph.repeat 3 reversed @layer_backward.full({{.*}}%[[F]]#1{{.*}}tensor<4x8xf32>, {{.*}}!graph.stack<3 x tensor<4x8xf32>>
// HANDED-ON-LABEL: graph.func private @layer_forward.full
// HANDED-ON-SAME:  (%[[X:[^:]*]]: tensor<4x8xf32>
// HANDED-ON:       graph.return %{{.*}}, %[[X]] : tensor<4x8xf32>, tensor<4x8xf32>
// HANDED-ON-LABEL: graph.func private @layer_backward.full
// HANDED-ON:       graph.again %
// HANDED-ON:       graph.exp
shard.grid @mesh(shape = 1x2) {graph.axis_names = ["dp", "tp"], graph.axis_roles = ["data", "tensor"]}
graph.parameter @"h.{}.w" : tensor<8x8xf32> init normal(0.0, 0.02) repeats 3
graph.func private @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %e = graph.exp %x : tensor<4x8xf32>
  %u = graph.linear %e, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  graph.return %u : tensor<4x8xf32>
}
graph.func @loss(%x: tensor<4x8xf32> {graph.input = "x"}) -> tensor<f32> {
  %w = graph.get @"h.{}.w" : !graph.stack<3 x tensor<8x8xf32>>
  %y = graph.repeat 3 @layer(%x, %w) {graph.recompute = "full"} : (tensor<4x8xf32>, !graph.stack<3 x tensor<8x8xf32>>) -> tensor<4x8xf32>
  %m = graph.reduce sum %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  graph.return %m : tensor<f32>
}

//--- nested.mlir
// NESTED: error: 'graph.call' op calls a block within a block that is to be computed again; run dtc-instantiate-blocks first
graph.func @microbatch(%x: tensor<8xf32> {graph.input = "x"}) -> (tensor<f32> {graph.accumulated = "loss"}, tensor<8xf32> {graph.accumulated = "gradient"}) {
  %one = graph.constant 1.0 : tensor<8xf32>
  %y:2 = graph.call @forward(%x) {graph.recompute = "full"} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %l = graph.reduce sum %y#0 dims [0] : tensor<8xf32> -> tensor<f32>
  %dx = graph.call @backward(%y#1, %one) {graph.recompute = "full"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.return %l, %x : tensor<f32>, tensor<8xf32>
}
graph.func private @inner(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.exp %x : tensor<8xf32>
  graph.return %y : tensor<8xf32>
}
graph.func private @forward(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = graph.call @inner(%x) : (tensor<8xf32>) -> tensor<8xf32>
  graph.return %y, %y : tensor<8xf32>, tensor<8xf32>
}
graph.func private @backward(%y: tensor<8xf32>, %dy: tensor<8xf32>) -> tensor<8xf32> {
  %dx = graph.multiply %dy, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.return %dx : tensor<8xf32>
}
