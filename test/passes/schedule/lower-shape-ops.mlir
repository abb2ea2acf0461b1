// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file | FileCheck %s

// Ops that move elements become views where the elements lie together, else copies of a box.

// The same elements in the same order: the buffer itself, read by the copy that a second op needs.
// CHECK-LABEL: module @reshape
// CHECK-NOT:     exec.buffer "reshape
module @reshape {
  graph.parameter @x : tensor<4x6xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6xf32>
    %r = graph.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
    %t = graph.transpose %x by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
    // The copy of the transposed matrix is the only instruction.
    // CHECK: exec.copy %x to %transpose.0 sizes [6, 4] from [1, 6] at <0> into [4, 1] at <0>{{$}}
    // CHECK-NEXT: exec.gemm %x, %transpose.0 to %linear.0 sizes [1, 1, 24]
    %f = graph.reshape %t : tensor<6x4xf32> -> tensor<24x1xf32>
    %y = graph.linear %r, %f : (tensor<24xf32>, tensor<24x1xf32>) -> tensor<1xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Dims that stay together are one; moving a dim of size 1 moves nothing.
// CHECK-LABEL: module @transpose
module @transpose {
  graph.parameter @x : tensor<2x3x4x5xf32> init zeros
  graph.parameter @y : tensor<1x3x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<2x3x4x5xf32>
    %y = graph.get @y : tensor<1x3x4xf32>
    // CHECK: exec.copy %x to %transpose.0 sizes [2, 4, 3, 5] from [60, 5, 20, 1] at <0> into [60, 15, 5, 1] at <0>{{$}}
    %0 = graph.transpose %x by [0, 2, 1, 3] : tensor<2x3x4x5xf32> -> tensor<2x4x3x5xf32>
    // CHECK-NEXT: exec.copy %x to %transpose.1 sizes [20, 6] from [1, 20] at <0> into [6, 1] at <0>{{$}}
    %1 = graph.transpose %x by [2, 3, 0, 1] : tensor<2x3x4x5xf32> -> tensor<4x5x2x3xf32>
    // CHECK-NEXT: exec.gemm %y transposed, %y to %matmul.0
    %2 = graph.transpose %y by [1, 0, 2] : tensor<1x3x4xf32> -> tensor<3x1x4xf32>
    %3 = graph.reshape %2 : tensor<3x1x4xf32> -> tensor<3x4xf32>
    %4 = graph.matmul %3 transposed, %3 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// A slice of the outermost dim is a view (of the buffer, also where it slices a slice), any other a copy.
// CHECK-LABEL: module @slice
// CHECK:         %[[A:.*]] = exec.view %x "x.0" f32 96 bytes at 48
// CHECK:         %[[B:.*]] = exec.view %x "x.0.0.0" f32 24 bytes at 96
module @slice {
  graph.parameter @x : tensor<4x6x2xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<4x6x2xf32>
    %a = graph.slice %x dim 0 start 1 size 2 : tensor<4x6x2xf32> -> tensor<2x6x2xf32>
    %row = graph.slice %a dim 0 start 1 size 1 squeeze : tensor<2x6x2xf32> -> tensor<6x2xf32>
    %b = graph.slice %row dim 0 start 0 size 3 : tensor<6x2xf32> -> tensor<3x2xf32>
    // CHECK: exec.copy %x to %slice.0 sizes [4, 6] from [12, 1] at <4> into [6, 1] at <0>{{$}}
    %c = graph.slice %x dim 1 start 2 size 3 : tensor<4x6x2xf32> -> tensor<4x3x2xf32>
    // CHECK-NEXT: exec.copy %[[A]] to %slice.1 sizes [12] from [2] at <1> into [1] at <0>{{$}}
    %d = graph.slice %a dim 2 start 1 size 1 squeeze : tensor<2x6x2xf32> -> tensor<2x6xf32>
    // CHECK-NEXT: exec.gemm %[[B]] transposed, %[[B]] to %{{.*}} sizes [2, 2, 3]
    %g = graph.matmul %b transposed, %b : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Zeros where there are no elements of x: only there if they lie together, else everywhere first.
// CHECK-LABEL: module @pad
// CHECK-DAG:     %[[LOW:.*]] = exec.view %pad.0 "pad.0.0" f32 16 bytes at 0
// CHECK-DAG:     %[[HIGH:.*]] = exec.view %pad.0 "pad.0.1" f32 48 bytes at 64
// CHECK-DAG:     %[[MIDDLE:.*]] = exec.view %pad.0 "pad.0.2" f32 48 bytes at 16
// CHECK-DAG:     %[[FIRST:.*]] = exec.view %pad.1 "pad.1.1" f32 48 bytes at 0
// CHECK-DAG:     %[[LAST:.*]] = exec.view %pad.1 "pad.1.0" f32 16 bytes at 48
module @pad {
  graph.parameter @x : tensor<3x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<3x4xf32>
    // CHECK:      exec.zero %[[LOW]]{{$}}
    // CHECK-NEXT: exec.zero %[[HIGH]]{{$}}
    // CHECK-NEXT: exec.copy %x to %[[MIDDLE]] sizes [12] from [1] at <0> into [1] at <0>{{$}}
    %0 = graph.pad %x dim 0 low 1 high 3 : tensor<3x4xf32> -> tensor<7x4xf32>
    // CHECK-NEXT: exec.zero %[[LAST]]{{$}}
    // CHECK-NEXT: exec.copy %x to %[[FIRST]] sizes [12]
    %1 = graph.pad %x dim 0 low 0 high 1 : tensor<3x4xf32> -> tensor<4x4xf32>
    // CHECK-NEXT: exec.zero %pad.2{{$}}
    // CHECK-NEXT: exec.copy %x to %pad.2 sizes [3, 4] from [4, 1] at <0> into [9, 1] at <2>{{$}}
    %2 = graph.pad %x dim 1 low 2 high 3 : tensor<3x4xf32> -> tensor<3x9xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// One copy per input; to a view where a part of the result lies together.
// CHECK-LABEL: module @concat
// CHECK-DAG:     %[[A:.*]] = exec.view %concat.0 "concat.0.0" f32 48 bytes at 0
// CHECK-DAG:     %[[B:.*]] = exec.view %concat.0 "concat.0.1" f32 80 bytes at 48
module @concat {
  graph.parameter @a : tensor<3x4xf32> init zeros
  graph.parameter @b : tensor<5x4xf32> init zeros
  graph.parameter @c : tensor<3x2xf32> init zeros
  graph.func @microbatch() {
    %a = graph.get @a : tensor<3x4xf32>
    %b = graph.get @b : tensor<5x4xf32>
    %c = graph.get @c : tensor<3x2xf32>
    // CHECK:      exec.copy %a to %[[A]] sizes [12] from [1] at <0> into [1] at <0>{{$}}
    // CHECK-NEXT: exec.copy %b to %[[B]] sizes [20] from [1] at <0> into [1] at <0>{{$}}
    %0 = graph.concat %a, %b dim 0 : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
    // CHECK-NEXT: exec.copy %a to %concat.1 sizes [3, 4] from [4, 1] at <0> into [6, 1] at <0>{{$}}
    // CHECK-NEXT: exec.copy %c to %concat.1 sizes [3, 2] from [2, 1] at <0> into [6, 1] at <4>{{$}}
    %1 = graph.concat %a, %c dim 1 : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x6xf32>
    // CHECK-NEXT: exec.copy %a to %concat.2 sizes [3, 4] from [4, 1] at <0> into [8, 1] at <0>{{$}}
    // CHECK-NEXT: exec.copy %a to %concat.2 sizes [3, 4] from [4, 1] at <0> into [8, 1] at <4>{{$}}
    %2 = graph.concat %a, %a dim 1 stack : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x2x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}
