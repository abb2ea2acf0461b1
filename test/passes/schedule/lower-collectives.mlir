// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file | FileCheck %s

// What each collective of the `shard` dialect becomes: one exchange of blocks by rank, with a copy before it that packs and
// one after it that unpacks where the blocks do not lie together.

// CHECK-LABEL: module @all_reduce
module @all_reduce {
  shard.grid @mesh(shape = 2x3x1) {graph.axis_names = ["dp", "tp", "none"]}
  graph.parameter @x : tensor<4x6xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6xf32>
    // CHECK: exec.collective all_reduce sum %x to %all_reduce.0 axes [1] count 24 "x" gradient async {exec.execution = -1 : i64}
    %0 = shard.all_reduce %x on @mesh grid_axes = [1] {graph.communication = #graph.communication<gradient async>} : tensor<4x6xf32> -> tensor<4x6xf32>
    // CHECK-NEXT: exec.collective all_reduce max %all_reduce.0 to %all_reduce.1 axes [0, 1] count 24 "all_reduce.0" control{{$}}
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0, 1] reduction = max {graph.communication = #graph.communication<control>} : tensor<4x6xf32> -> tensor<4x6xf32>
    // A rank that is alone has the sum already.
    // CHECK-NEXT: exec.gemm %all_reduce.1 transposed, %all_reduce.1
    %2 = shard.all_reduce %1 on @mesh grid_axes = [2] : tensor<4x6xf32> -> tensor<4x6xf32>
    %3 = graph.matmul %2 transposed, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// CHECK-LABEL: module @all_gather
// CHECK:         %gathered = exec.buffer "gathered" communication f32 288 bytes
module @all_gather {
  shard.grid @mesh(shape = 2x3x1) {graph.axis_names = ["dp", "tp", "none"]}
  graph.parameter @x : tensor<4x6xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6xf32>
    // CHECK: exec.collective all_gather sum %x to %all_gather.0 axes [0, 1] count 24 "x" parameter async {exec.execution = -1 : i64}
    %0 = shard.all_gather %x on @mesh grid_axes = [0, 1] gather_axis = 0 {graph.communication = #graph.communication<parameter async>} : tensor<4x6xf32> -> tensor<24x6xf32>
    // CHECK-NEXT: exec.collective all_gather sum %x to %gathered axes [1] count 24 "x" activation{{$}}
    // CHECK-NEXT: exec.copy %gathered to %all_gather.1 sizes [3, 4, 6] from [24, 6, 1] at <0> into [6, 18, 1] at <0>{{$}}
    %1 = shard.all_gather %x on @mesh grid_axes = [1] gather_axis = 1 {graph.communication = #graph.communication<activation>} : tensor<4x6xf32> -> tensor<4x18xf32>
    // CHECK-NEXT: exec.gemm %x transposed, %x
    %2 = shard.all_gather %x on @mesh grid_axes = [2] gather_axis = 1 : tensor<4x6xf32> -> tensor<4x6xf32>
    %3 = graph.matmul %2 transposed, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// CHECK-LABEL: module @reduce_scatter
// CHECK:         %pack = exec.buffer "pack" communication f32 96 bytes
module @reduce_scatter {
  shard.grid @mesh(shape = 2x3x1) {graph.axis_names = ["dp", "tp", "none"]}
  graph.parameter @x : tensor<4x6xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6xf32>
    // CHECK: exec.collective reduce_scatter sum %x to %reduce_scatter.0 axes [0] count 12 "x" gradient async {exec.execution = -1 : i64}
    %0 = shard.reduce_scatter %x on @mesh grid_axes = [0] scatter_axis = 0 {graph.communication = #graph.communication<gradient async>} : tensor<4x6xf32> -> tensor<2x6xf32>
    // CHECK-NEXT: exec.copy %x to %pack sizes [6, 4] from [1, 6] at <0> into [4, 1] at <0>{{$}}
    // CHECK-NEXT: exec.collective reduce_scatter max %pack to %reduce_scatter.1 axes [0, 1] count 4 "x" expert{{$}}
    %1 = shard.reduce_scatter %x on @mesh grid_axes = [0, 1] reduction = max scatter_axis = 1 {graph.communication = #graph.communication<expert>} : tensor<4x6xf32> -> tensor<4x1xf32>
    // CHECK-NEXT: exec.gemm %x transposed, %x
    %2 = shard.reduce_scatter %x on @mesh grid_axes = [2] scatter_axis = 0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %3 = graph.matmul %2 transposed, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// From split along the concatenated dim to split along the other.
// CHECK-LABEL: module @all_to_all
// CHECK:         %received = exec.buffer "received" communication f32 96 bytes
// CHECK:         %pack = exec.buffer "pack" communication f32 96 bytes
module @all_to_all {
  shard.grid @mesh(shape = 2x3x1) {graph.axis_names = ["dp", "tp", "none"]}
  graph.parameter @x : tensor<4x6xf32> init zeros
  graph.parameter @y : tensor<3x2x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6xf32>
    %y = graph.get @y : tensor<3x2x4xf32>
    // CHECK: exec.collective all_to_all sum %x to %received axes [0] count 12 "x" activation{{$}}
    // CHECK-NEXT: exec.copy %received to %all_to_all.0 sizes [2, 2, 6] from [12, 6, 1] at <0> into [6, 12, 1] at <0>{{$}}
    %0 = shard.all_to_all %x on @mesh grid_axes = [0] split_axis = 0 concat_axis = 1 {graph.communication = #graph.communication<activation>} : tensor<4x6xf32> -> tensor<2x12xf32>
    // CHECK-NEXT: exec.copy %x to %pack sizes [3, 4, 2] from [2, 6, 1] at <0> into [8, 2, 1] at <0>{{$}}
    // CHECK-NEXT: exec.collective all_to_all sum %pack to %all_to_all.1 axes [1] count 8 "x" expert{{$}}
    %1 = shard.all_to_all %x on @mesh grid_axes = [1] split_axis = 1 concat_axis = 0 {graph.communication = #graph.communication<expert>} : tensor<4x6xf32> -> tensor<12x2xf32>
    // Both: neither dim is the outermost.
    // CHECK-NEXT: exec.copy %y to %[[PACK:.*]] sizes [2, 6, 2] from [2, 4, 1] at <0> into [12, 2, 1] at <0>{{$}}
    // CHECK-NEXT: exec.collective all_to_all sum %[[PACK]] to %[[RECEIVED:.*]] axes [0] count 12 "y" pipeline{{$}}
    // CHECK-NEXT: exec.copy %[[RECEIVED]] to %all_to_all.2 sizes [2, 3, 4] from [12, 4, 1] at <0> into [4, 8, 1] at <0>{{$}}
    %2 = shard.all_to_all %y on @mesh grid_axes = [0] split_axis = 2 concat_axis = 1 {graph.communication = #graph.communication<pipeline>} : tensor<3x2x4xf32> -> tensor<3x4x2xf32>
    // CHECK-NEXT: exec.gemm %x transposed, %x
    %3 = shard.all_to_all %x on @mesh grid_axes = [2] split_axis = 0 concat_axis = 1 : tensor<4x6xf32> -> tensor<4x6xf32>
    %4 = graph.matmul %3 transposed, %3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Every rank copies its own part, which its coordinates on all axes pick; nothing is sent.
// CHECK-LABEL: module @all_slice
module @all_slice {
  shard.grid @mesh(shape = 2x3x1) {graph.axis_names = ["dp", "tp", "none"]}
  graph.parameter @x : tensor<4x6xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6xf32>
    // CHECK: exec.copy %x to %all_slice.0 sizes [12] from [1] at <0 + 12 * axis 0> into [1] at <0>{{$}}
    %0 = shard.all_slice %x on @mesh grid_axes = [0] slice_axis = 0 : tensor<4x6xf32> -> tensor<2x6xf32>
    // CHECK-NEXT: exec.copy %x to %all_slice.1 sizes [4] from [6] at <0 + 3 * axis 0 + 1 * axis 1> into [1] at <0>{{$}}
    %1 = shard.all_slice %x on @mesh grid_axes = [0, 1, 2] slice_axis = 1 : tensor<4x6xf32> -> tensor<4x1xf32>
    // CHECK-NOT: exec.copy
    // CHECK: exec.gemm %x transposed, %x
    %2 = shard.all_slice %x on @mesh grid_axes = [2] slice_axis = 0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %3 = graph.matmul %2 transposed, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    // CHECK-NOT: exec.collective
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}
