// Two stages of a pipeline, three micro-batches, one forward and one backward in turn: each chunk's phases are tasks, what
// it receives and sends are others, on streams of their own, in buffers with slots; the programs come together in one module,
// where kernels that are alike are there once.
// RUN: dtc-opt %s --pass-pipeline='builtin.module(builtin.module(dtc-schedule),dtc-merge-stages)' | FileCheck %s

// CHECK:       graph.func private @kernel_0
// CHECK:       graph.func private @kernel_1
// CHECK:       exec.program @stage_0 mesh ["pp", "dp"] sizes [2, 2] ranks [0, 1] micro_batches 3
// CHECK-SAME:    streams 3 events 8
// CHECK:         %[[Y:.*]] = exec.buffer "linear.0" activation f32 128 bytes slots 2 at
// CHECK:         %[[DY:.*]] = exec.buffer "receive.0" activation f32 128 bytes slots 2 at
// CHECK:         exec.task @begin {
// CHECK-NEXT:      exec.record 0 stream 1
// CHECK-NEXT:      exec.record 1 stream 1
// CHECK-NEXT:      exec.record 4{{$}}
// CHECK-NEXT:      exec.record 5{{$}}
// CHECK-NEXT:    }
// The send of what had the slot is over before it is written again.
// CHECK:         exec.task @forward.0 per_micro_batch {
// CHECK-NEXT:      exec.wait 0 slots 2{{$}}
// CHECK-NEXT:      exec.gemm %{{.*}}, %w to %[[Y]]
// CHECK-NEXT:      exec.record 2 slots 2{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.task @send_forward.0 per_micro_batch {
// CHECK-NEXT:      exec.wait 2 slots 2 stream 1
// CHECK-NEXT:      exec.send %[[Y]] over <"chunk 0 to 1", 2, [0, 2, 1, 3]> shift 1 "hidden" pipeline stream 1
// CHECK-NEXT:      exec.record 0 slots 2 stream 1
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.task @receive_backward.0 per_micro_batch {
// CHECK-NEXT:      exec.wait 4 slots 2 stream 2
// CHECK-NEXT:      exec.receive %[[DY]] over <"chunk 1 to 0", 2, [2, 0, 3, 1]> shift 1 "hidden" pipeline stream 2
// CHECK-NEXT:      exec.record 6 slots 2 stream 2
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.task @backward.0 per_micro_batch {
// CHECK-NEXT:      exec.wait 6 slots 2{{$}}
// CHECK-NEXT:      exec.launch @kernel_0(%[[DY]])
// CHECK-NEXT:      exec.record 4 slots 2{{$}}
// CHECK:         exec.task @gradients {
// CHECK-NEXT:      exec.collective all_reduce sum %grad_w to %grad_w over <"stages 0 1", 2, [0, 2, 1, 3]> count 16 "grad w" gradient
// CHECK:         exec.entry train order [@begin, @forward.0 0, @send_forward.0 0, @forward.0 1, @send_forward.0 1,
// CHECK-SAME:      @receive_backward.0 0, @backward.0 0, @forward.0 2, @send_forward.0 2, @receive_backward.0 1, @backward.0 1,
// CHECK-SAME:      @receive_backward.0 2, @backward.0 2, @gradients, @update]
// CHECK:         exec.entry gradients order [@begin, @forward.0 0,
// CHECK-SAME:      @backward.0 2, @gradients]
// CHECK:         exec.entry evaluate order [@begin, @forward.0 0, @send_forward.0 0, @forward.0 1, @send_forward.0 1,
// CHECK-SAME:      @forward.0 2, @send_forward.0 2]

// The gradient that goes on is sent while the next one is made. Of what comes in there is one more than is under way.
// CHECK:       exec.program @stage_1 mesh ["pp", "dp"] sizes [2, 2] ranks [2, 3] micro_batches 3
// CHECK:         %[[X:.*]] = exec.buffer "receive.0" activation f32 128 bytes slots 2 at
// CHECK:         %[[DX:.*]] = exec.buffer "kernel_1.0" activation f32 128 bytes slots 2 at
// CHECK:         exec.task @receive_forward.1 per_micro_batch {
// CHECK-NEXT:      exec.wait 0 slots 2 stream 1
// CHECK-NEXT:      exec.wait 2 slots 2 stream 1
// CHECK-NEXT:      exec.receive %[[X]] over <"chunk 0 to 1", 2, [0, 2, 1, 3]> shift 1 "hidden" pipeline stream 1
// CHECK-NEXT:      exec.record 4 slots 2 stream 1
// CHECK:         exec.task @forward.1 per_micro_batch {
// CHECK:         exec.launch @kernel_2
// CHECK:         exec.launch @kernel_0(%{{.*}}) to(%[[DX]])
// CHECK:         exec.task @loss {
// CHECK:         exec.launch @kernel_1
// CHECK:         exec.entry evaluate order [@begin, @receive_forward.1 0, @forward.1 0, @receive_forward.1 1, @forward.1 1,
// CHECK-SAME:      @receive_forward.1 2, @forward.1 2, @loss]

module attributes {graph.micro_batches = 3 : i64} {
module @stage_0 attributes {graph.micro_batches = 3 : i64, graph.stage = 0 : i64, graph.stage_of_chunk = array<i64: 0, 1>,
    graph.order = array<i64: 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 2, 1, 0, 1, 1, 0, 2>} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["pp", "dp"], graph.axis_roles = ["pipeline", "data"]}
  graph.parameter @w : tensor<4x4xf32> init zeros placement <[replicate, replicate]>
  graph.func @microbatch(%x: tensor<8x4xf32> {graph.input = "x", graph.placement = #graph.placement<[replicate, shard(0)]>})
      -> (tensor<4x4xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w : tensor<4x4xf32>
    %y = graph.linear %x, %w {graph.chunk = 0 : i64, graph.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    graph.send %y chunk 0 to 1 "hidden" {graph.chunk = 0 : i64, graph.phase = "forward"} : tensor<8x4xf32>
    %dy = graph.receive chunk 0 from 1 "hidden" {graph.chunk = 0 : i64, graph.phase = "backward"} : tensor<8x4xf32>
    %dz = graph.call @kernel_0(%dy) {graph.chunk = 0 : i64, graph.phase = "backward"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %dw = graph.linear_weight_grad %x, %dz {graph.chunk = 0 : i64, graph.phase = "backward"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    graph.return %dw : tensor<4x4xf32>
  }
  graph.func @update(%dw: tensor<4x4xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w : tensor<4x4xf32>
    %all = graph.stage_reduce sum %dw stages [0, 1] <gradient> : tensor<4x4xf32>
    %new = graph.call @kernel_1(%w, %all) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.set @w, %new : tensor<4x4xf32>
    graph.return
  }
  graph.func private @kernel_0(%y: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.negate %y : tensor<8x4xf32>
    graph.return %z : tensor<8x4xf32>
  }
  graph.func private @kernel_1(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.subtract %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.return %z : tensor<4x4xf32>
  }
}
module @stage_1 attributes {graph.micro_batches = 3 : i64, graph.stage = 1 : i64, graph.stage_of_chunk = array<i64: 0, 1>,
    graph.order = array<i64: 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 2, 1, 1, 2>} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["pp", "dp"], graph.axis_roles = ["pipeline", "data"]}
  graph.parameter @w : tensor<4x4xf32> init zeros placement <[replicate, replicate]>
  graph.func @microbatch() -> (tensor<f32> {graph.accumulated = "loss"}, tensor<4x4xf32> {graph.gradient_of = @w}) {
    %w = graph.get @w : tensor<4x4xf32>
    %y = graph.receive chunk 1 from 0 "hidden" {graph.chunk = 1 : i64, graph.phase = "forward"} : tensor<8x4xf32>
    %z = graph.linear %y, %w {graph.chunk = 1 : i64, graph.phase = "forward"} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %loss, %dz = graph.call @kernel_0(%z) {graph.chunk = 1 : i64, graph.phase = "forward"} : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
    %dw = graph.linear_weight_grad %y, %dz {graph.chunk = 1 : i64, graph.phase = "backward"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %dy = graph.call @kernel_1(%dz) {graph.chunk = 1 : i64, graph.phase = "backward"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    graph.send %dy chunk 1 to 0 "hidden" {graph.chunk = 1 : i64, graph.phase = "backward"} : tensor<8x4xf32>
    graph.return %loss, %dw : tensor<f32>, tensor<4x4xf32>
  }
  graph.func @update(%loss: tensor<f32> {graph.accumulated = "loss"}, %dw: tensor<4x4xf32> {graph.gradient_of = @w})
      -> (tensor<f32> {graph.output = "loss"}) {
    %w = graph.get @w : tensor<4x4xf32>
    %all = graph.stage_reduce sum %dw stages [0, 1] <gradient> : tensor<4x4xf32>
    %new = graph.call @kernel_2(%w, %all) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.set @w, %new : tensor<4x4xf32>
    graph.return %loss : tensor<f32>
  }
  graph.func private @kernel_0(%y: tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>) attributes {kernel, kernel_range = 1 : i64} {
    %c = graph.constant 1.0 : tensor<f32>
    graph.return %c, %y : tensor<f32>, tensor<8x4xf32>
  }
  graph.func private @kernel_1(%y: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.negate %y : tensor<8x4xf32>
    graph.return %z : tensor<8x4xf32>
  }
  graph.func private @kernel_2(%w: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {kernel, kernel_range = 1 : i64} {
    %z = graph.subtract %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.return %z : tensor<4x4xf32>
  }
}
}
