// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file -verify-diagnostics

// expected-error @+1 {{has no function '@microbatch' to schedule; dtc-differentiate and dtc-add-optimizer make them}}
module @empty {}

// -----
module @pointwise {
  graph.func @microbatch(%t: tensor<1x2xi32> {graph.input = "tokens"}) -> (tensor<f32> {graph.accumulated = "loss"}) {
    // expected-error @+1 {{has no exec lowering; run dtc-form-kernels first, which makes kernels of ops that the runtime does not have}}
    %c = graph.constant 1.0 : tensor<f32>
    graph.return %c : tensor<f32>
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @name {
  // expected-error @+1 {{has argument 1 without 'graph.input', the name of what it reads}}
  graph.func @microbatch(%t: tensor<1x2xi32> {graph.input = "tokens"}, %u: tensor<1x2xi32>) {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @element {
  graph.parameter @x : tensor<1x1x4x4xbf16> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<1x1x4x4xbf16>
    // expected-error @+1 {{has an operand of 'bf16'; its kernel takes f32}}
    %y = graph.avg_pool2d %x kernel [2, 2] stride [2, 2] : tensor<1x1x4x4xbf16> -> tensor<1x1x2x2xbf16>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @ids {
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x4xf32>
    %seed = graph.input seed : tensor<i64>
    // expected-error @+1 {{has ids of 'tensor<i64>'; the runtime takes i32}}
    %y = graph.embedding %x, %seed : (tensor<4x4xf32>, tensor<i64>) -> tensor<4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @window_axis {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["dp"]}
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch(%t: tensor<8xi32> {graph.input = "tokens"}) {
    %x = graph.get @x : tensor<4x4xf32>
    // expected-error @+1 {{has #graph.window<loop = 2, local = 4, global = 8, axes = [1]>, which is none of mesh [2]}}
    %y = graph.embedding %x, %t {windows = [#graph.window<loop = 2, local = 4, global = 8, axes = [1]>]} : (tensor<4x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @dynamic {
  graph.func @microbatch() {
    graph.return
  }
  // expected-error @+1 {{has 'tensor<?xf32>' where scheduling wants a static tensor; run dtc-bind-batch first}}
  graph.func @update(%x: tensor<?xf32> {graph.accumulated = "loss"}) {
    graph.return
  }
}

// -----
module @no_such_sum {
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    graph.return
  }
  // expected-error @+1 {{has argument 0 of 'tensor<4x4xf32>', which is not a gradient or sum that @microbatch returns}}
  graph.func @update(%g: tensor<4x4xf32> {graph.gradient_of = @x}) {
    graph.return
  }
}

// -----
module @block {
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x4xf32>
    // expected-error @+1 {{calls 'body', which is not a kernel; run dtc-inline-blocks first}}
    %y = graph.call @body(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
  graph.func private @body(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    graph.return %x : tensor<4x4xf32>
  }
}

// -----
module @range {
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x4xf32>
    // expected-error @+1 {{calls kernel 'body', which lacks 'kernel_range'; dtc-form-kernels sets it}}
    %y = graph.call @body(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
  graph.func private @body(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {kernel} {
    graph.return %x : tensor<4x4xf32>
  }
}

// -----
module @axis_order {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x4xf32>
    // expected-error @+1 {{has grid_axes [1, 0]; want them ascending, outermost first}}
    %y = shard.all_gather %x on @mesh grid_axes = [1, 0] gather_axis = 0 : tensor<4x4xf32> -> tensor<16x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @no_role {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x4xf32>
    // expected-error @+1 {{lacks 'graph.communication', which says what it moves; dtc-partition sets it}}
    %y = shard.all_reduce %x on @mesh grid_axes = [1] : tensor<4x4xf32> -> tensor<4x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @reduction {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @x : tensor<4x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x4xf32>
    // expected-error @+1 {{reduces by product; the runtime reduces by sum and max}}
    %y = shard.all_reduce %x on @mesh grid_axes = [1] reduction = product {graph.communication = #graph.communication<activation>} : tensor<4x4xf32> -> tensor<4x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @axis_names {
  // expected-error @+1 {{lacks 'graph.axis_names' with a name for each of its 2 axes}}
  shard.grid @mesh(shape = 2x2)
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @other_mesh {
  // expected-error @+1 {{has 'x' placed #graph.placement<[replicate, shard(0)]>, on 2 mesh axes; the mesh has 1}}
  graph.parameter @x : tensor<4x4xf32> init zeros placement <[replicate, shard(0)]>
  graph.func @microbatch() {
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
module @zigzag_heads {
  shard.grid @mesh(shape = 2) {graph.axis_names = ["cp"]}
  graph.parameter @q : tensor<1x8x4x16xf32> init zeros
  graph.parameter @k : tensor<1x8x4x16xf32> init zeros
  graph.func @microbatch() {
    %q = graph.get @q : tensor<1x8x4x16xf32>
    %k = graph.get @k : tensor<1x8x4x16xf32>
    %s = graph.input seed : tensor<i64>
    %t = graph.input step : tensor<f32>
    // expected-error @+1 {{has loop 1 split zigzag, where its kernel takes one piece}}
    %0, %l = graph.attention %q, %k, %k scale 0.25 dropout 0.1 id 7 key(%s, %t) {windows = [#graph.window<loop = 1, local = 4, global = 8, axes = [0] zigzag 0>]}
      : (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<i64>, tensor<f32>) -> (tensor<1x8x4x16xf32>, tensor<1x4x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}
