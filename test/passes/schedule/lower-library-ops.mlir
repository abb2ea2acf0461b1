// RUN: dtc-opt %s --dtc-lower-to-exec -split-input-file | FileCheck %s

// Which instruction each op becomes that the runtime has a kernel for, with which sizes.

// Leading dims are rows, the contracted dims are columns of x; a transposed weight is [out, in].
// CHECK-LABEL: module @linear
module @linear {
  graph.parameter @x : tensor<2x8x3x4xf32> init zeros
  graph.parameter @w : tensor<3x4x2x5xf32> init zeros
  graph.parameter @t : tensor<7x4xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<2x8x3x4xf32>
    %w = graph.get @w : tensor<3x4x2x5xf32>
    %t = graph.get @t : tensor<7x4xf32>
    // CHECK: exec.gemm %x, %w to %linear.0 sizes [16, 10, 12] strides [12, 10, 10]{{$}}
    %a = graph.linear %x, %w contract 2 : (tensor<2x8x3x4xf32>, tensor<3x4x2x5xf32>) -> tensor<2x8x2x5xf32>
    // CHECK-NEXT: exec.gemm %x, %t transposed to %linear.1 sizes [48, 7, 4] strides [4, 4, 7]{{$}}
    %b = graph.linear %x, %t transposed : (tensor<2x8x3x4xf32>, tensor<7x4xf32>) -> tensor<2x8x3x7xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// x^T dy, or for a transposed weight dy^T x; rows are what is summed over.
// CHECK-LABEL: module @linear_weight_grad
module @linear_weight_grad {
  graph.parameter @x : tensor<2x8x3x4xf32> init zeros
  graph.parameter @dy : tensor<2x8x5xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<2x8x3x4xf32>
    %dy = graph.get @dy : tensor<2x8x5xf32>
    // CHECK: exec.gemm %x transposed, %dy to %linear_weight_grad.0 sizes [12, 5, 16] strides [12, 5, 5]{{$}}
    %a = graph.linear_weight_grad %x, %dy contract 2 : (tensor<2x8x3x4xf32>, tensor<2x8x5xf32>) -> tensor<3x4x5xf32>
    // CHECK-NEXT: exec.gemm %dy transposed, %x to %linear_weight_grad.1 sizes [5, 12, 16] strides [5, 12, 12]{{$}}
    %b = graph.linear_weight_grad %x, %dy contract 2 transposed : (tensor<2x8x3x4xf32>, tensor<2x8x5xf32>) -> tensor<5x3x4xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// One product per batch element; without batch dims there is one.
// CHECK-LABEL: module @matmul
module @matmul {
  graph.parameter @a : tensor<2x3x4x8xf32> init zeros
  graph.parameter @b : tensor<2x3x8x6xf32> init zeros
  graph.parameter @c : tensor<8x4xf32> init zeros
  graph.parameter @d : tensor<6x8xf32> init zeros
  graph.func @microbatch() {
    %a = graph.get @a : tensor<2x3x4x8xf32>
    %b = graph.get @b : tensor<2x3x8x6xf32>
    %c = graph.get @c : tensor<8x4xf32>
    %d = graph.get @d : tensor<6x8xf32>
    // CHECK: exec.gemm %a, %b to %matmul.0 sizes [4, 6, 8] strides [8, 6, 6] batch 6 batch_strides [32, 48, 24]{{$}}
    %0 = graph.matmul %a, %b : (tensor<2x3x4x8xf32>, tensor<2x3x8x6xf32>) -> tensor<2x3x4x6xf32>
    // CHECK-NEXT: exec.gemm %c transposed, %d transposed to %matmul.1 sizes [4, 6, 8] strides [4, 8, 6]{{$}}
    %1 = graph.matmul %c transposed, %d transposed : (tensor<8x4xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Without dropout there is neither a key nor a place of this rank.
// CHECK-LABEL: module @attention
// CHECK:         %attention_scratch = exec.buffer "attention_scratch" temporary f32 128 bytes
module @attention {
  graph.parameter @q : tensor<2x4x4x8xf32> init zeros
  graph.parameter @k : tensor<2x6x2x8xf32> init zeros
  graph.parameter @v : tensor<2x6x2x8xf32> init zeros
  graph.func @microbatch() {
    %q = graph.get @q : tensor<2x4x4x8xf32>
    %k = graph.get @k : tensor<2x6x2x8xf32>
    %v = graph.get @v : tensor<2x6x2x8xf32>
    // CHECK:      exec.attention %q, %k, %v to %attention.0, %attention.1 batch 2 queries 4 keys 6 heads 4 kv_heads 2 head_dim 8
    // CHECK-SAME:   causal scale 2.500000e-01{{$}}
    %o, %lse = graph.attention %q, %k, %v causal scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    // CHECK-NEXT: exec.attention_grad %q, %k, %v, %attention.0, %attention.1, %q to %attention_grad.0, %attention_grad.1,
    // CHECK-SAME:   %attention_grad.2 scratch %attention_scratch batch 2 queries 4 keys 6 heads 4 kv_heads 2 head_dim 8
    // CHECK-SAME:   causal scale 2.500000e-01{{$}}
    %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %o, %lse, %q causal scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// A window that hides no key is none.

// CHECK-LABEL: module @attention_window
module @attention_window {
  graph.parameter @q : tensor<2x4x4x8xf32> init zeros
  graph.func @microbatch() {
    %q = graph.get @q : tensor<2x4x4x8xf32>
    // CHECK: exec.attention %{{.*}} causal window 3 soft_cap 5.000000e+01 scale 2.500000e-01{{$}}
    %o, %lse = graph.attention %q, %q, %q causal sliding 3 soft_cap 50.0 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    // CHECK: exec.attention_grad %{{.*}} causal window 3 soft_cap 5.000000e+01 scale 2.500000e-01{{$}}
    %dq, %dk, %dv = graph.attention_grad %q, %q, %q, %o, %lse, %q causal sliding 3 soft_cap 50.0 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>)
    // CHECK: exec.attention %{{.*}} causal scale 2.500000e-01{{$}}
    %p, %lse2 = graph.attention %q, %q, %q causal sliding 4 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Lengths, bias, slopes, a prefix and values of another head dim are the instruction's, too.

// CHECK-LABEL: module @attention_scores
module @attention_scores {
  graph.parameter @q : tensor<2x4x4x8xf32> init zeros
  graph.parameter @v : tensor<2x4x2x6xf32> init zeros
  graph.parameter @bias : tensor<1x4x4x4xf32> init zeros
  graph.parameter @slopes : tensor<4xf32> init zeros
  graph.func @microbatch(%n: tensor<2xi32> {graph.input = "lengths"}) {
    %q = graph.get @q : tensor<2x4x4x8xf32>
    %k = graph.slice %q dim 2 start 0 size 2 : tensor<2x4x4x8xf32> -> tensor<2x4x2x8xf32>
    %v = graph.get @v : tensor<2x4x2x6xf32>
    %b = graph.get @bias : tensor<1x4x4x4xf32>
    %s = graph.get @slopes : tensor<4xf32>
    // CHECK: exec.attention %q, %{{.*}}, %v lengths %lengths bias %bias [1, 4, 4, 4] slopes %slopes to %[[O:.*]], %[[LSE:.*]] batch 2
    // CHECK-SAME: head_dim 8 value_dim 6 {{.*}}causal prefix 3 scale 2.500000e-01{{$}}
    %o, %lse = graph.attention %q, %k, %v lengths %n bias %b slopes %s causal prefix 3 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x6xf32>, tensor<2xi32>, tensor<1x4x4x4xf32>, tensor<4xf32>)
      -> (tensor<2x4x4x6xf32>, tensor<2x4x4xf32>)
    // CHECK: exec.attention_grad %q, %{{.*}}, %v, %[[O]], %[[LSE]], %[[O]] lengths %lengths bias %bias [1, 4, 4, 4] slopes %slopes
    // CHECK-SAME: to %{{.*}}, %{{.*}}, %{{.*}} dbias %{{.*}} scratch %{{.*}} value_dim 6 {{.*}}causal prefix 3 scale 2.500000e-01{{$}}
    %dq, %dk, %dv, %db = graph.attention_grad %q, %k, %v, %o, %lse, %o lengths %n bias %b slopes %s causal prefix 3 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x6xf32>, tensor<2x4x4x6xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x6xf32>, tensor<2xi32>, tensor<1x4x4x4xf32>, tensor<4xf32>)
      -> (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x6xf32>, tensor<1x4x4x4xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Sinks are of the forward instruction alone: lse has them.

// CHECK-LABEL: module @attention_with_sinks
module @attention_with_sinks {
  graph.parameter @q : tensor<2x4x4x8xf32> init zeros
  graph.parameter @z : tensor<4xf32> init zeros
  graph.func @microbatch() {
    %q = graph.get @q : tensor<2x4x4x8xf32>
    %z = graph.get @z : tensor<4xf32>
    // CHECK: exec.attention %q, %q, %q sinks %z to %[[O:.*]], %[[LSE:.*]] batch 2
    %o, %lse = graph.attention %q, %q, %q sinks %z causal scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<4xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    // CHECK: exec.attention_grad %q, %q, %q, %[[O]], %[[LSE]], %[[O]] to
    %dq, %dk, %dv = graph.attention_grad %q, %q, %q, %o, %lse, %o causal scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Starts are both instructions', and a window hides keys even if it is as long as the sequence.

// CHECK-LABEL: module @attention_that_starts_late
module @attention_that_starts_late {
  graph.parameter @q : tensor<2x4x4x8xf32> init zeros
  graph.func @microbatch(%s: tensor<2xi32> {graph.input = "starts"}) {
    %q = graph.get @q : tensor<2x4x4x8xf32>
    // CHECK: exec.attention %q, %q, %q starts %starts to %[[O:.*]], %[[LSE:.*]] batch 2 {{.*}} window 4 scale
    %o, %lse = graph.attention %q, %q, %q starts %s causal sliding 4 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2xi32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    // CHECK: exec.attention_grad %q, %q, %q, %[[O]], %[[LSE]], %[[O]] starts %starts to {{.*}} window 4 scale
    %dq, %dk, %dv = graph.attention_grad %q, %q, %q, %o, %lse, %o starts %s causal sliding 4 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x8xf32>, tensor<2xi32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>)
    // Positions are less than 2^30 apart.
    // CHECK: exec.attention %q, %q, %q starts %starts to {{.*}} head_dim 8 causal scale
    %far, %l = graph.attention %q, %q, %q starts %s causal sliding 1073741824 scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2xi32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Documents are the instruction's, too.

// CHECK-LABEL: module @attention_of_documents
module @attention_of_documents {
  graph.parameter @q : tensor<2x4x4x8xf32> init zeros
  graph.func @microbatch(%d: tensor<2x4xi32> {graph.input = "documents"}) {
    %q = graph.get @q : tensor<2x4x4x8xf32>
    // CHECK: exec.attention %q, %q, %q documents %documents to %[[O:.*]], %[[LSE:.*]] batch 2
    %o, %lse = graph.attention %q, %q, %q documents %d causal scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4xi32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
    // CHECK: exec.attention_grad %q, %q, %q, %[[O]], %[[LSE]], %[[O]] documents %documents to
    %dq, %dk, %dv = graph.attention_grad %q, %q, %q, %o, %lse, %o documents %d causal scale 0.25
      : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x8xf32>, tensor<2x4xi32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Columns of one tensor are read and written where they are: no slice of them, and no concat of their gradients, is copied.
// CHECK-LABEL: module @attention_of_columns
// CHECK-DAG:     %[[Q:.*]] = exec.view %x "x.0" f32 1072 bytes at 0
// CHECK-DAG:     %[[K:.*]] = exec.view %x "x.1" f32 1040 bytes at 64
// CHECK-DAG:     %[[V:.*]] = exec.view %x "x.2" f32 1040 bytes at 96
// CHECK-DAG:     %[[DX:.*]] = exec.buffer "concat.0" temporary f32 1024 bytes
// CHECK-DAG:     exec.view %[[DX]] "concat.0.0" f32 960 bytes at 0
// CHECK-DAG:     exec.view %[[DX]] "concat.0.1" f32 928 bytes at 64
// CHECK-DAG:     exec.view %[[DX]] "concat.0.2" f32 928 bytes at 96
module @attention_of_columns {
  graph.parameter @x : tensor<2x4x36xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<2x4x36xf32>
    // CHECK-NOT: exec.copy
    %qs = graph.slice %x dim 2 start 0 size 16 : tensor<2x4x36xf32> -> tensor<2x4x16xf32>
    %ks = graph.slice %x dim 2 start 16 size 8 : tensor<2x4x36xf32> -> tensor<2x4x8xf32>
    %vs = graph.slice %x dim 2 start 24 size 8 : tensor<2x4x36xf32> -> tensor<2x4x8xf32>
    %q = graph.reshape %qs : tensor<2x4x16xf32> -> tensor<2x4x4x4xf32>
    %k = graph.reshape %ks : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32>
    %v = graph.reshape %vs : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32>
    // CHECK: exec.attention %[[Q]], %[[K]], %[[V]] to %{{.*}}, %{{.*}} batch 2 queries 4 keys 4 heads 4 kv_heads 2 head_dim 4
    // CHECK-SAME: rows 36, 36, 36 scale
    %o, %lse = graph.attention %q, %k, %v scale 0.25
      : (tensor<2x4x4x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4xf32>)
    // CHECK-NEXT: exec.attention_grad %[[Q]], %[[K]], %[[V]], %{{.*}}, %{{.*}}, %{{.*}} to %concat.0.0, %concat.0.1, %concat.0.2
    // CHECK-SAME: rows 36, 36, 36 grad_rows 32, 32, 32 scale
    %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %o, %lse, %o scale 0.25
      : (tensor<2x4x4x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4xf32>,
         tensor<2x4x4x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>)
    %a = graph.reshape %dq : tensor<2x4x4x4xf32> -> tensor<2x4x16xf32>
    %b = graph.reshape %dk : tensor<2x4x2x4xf32> -> tensor<2x4x8xf32>
    %c = graph.reshape %dv : tensor<2x4x2x4xf32> -> tensor<2x4x8xf32>
    // CHECK-NEXT: exec.gemm
    %dx = graph.concat %a, %b, %c dim 2 : (tensor<2x4x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x32xf32>
    %0 = graph.reshape %dx : tensor<2x4x32xf32> -> tensor<8x32xf32>
    %1 = graph.matmul %0 transposed, %0 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<32x32xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// What anything else reads as well has no gaps; nor have gradients that go on alone.
// CHECK-LABEL: module @attention_of_copies
module @attention_of_copies {
  graph.parameter @x : tensor<2x4x24xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<2x4x24xf32>
    // CHECK-COUNT-2: exec.copy
    %qs = graph.slice %x dim 2 start 0 size 16 : tensor<2x4x24xf32> -> tensor<2x4x16xf32>
    %ks = graph.slice %x dim 2 start 16 size 8 : tensor<2x4x24xf32> -> tensor<2x4x8xf32>
    %q = graph.reshape %qs : tensor<2x4x16xf32> -> tensor<2x4x2x8xf32>
    %k = graph.reshape %ks : tensor<2x4x8xf32> -> tensor<2x4x1x8xf32>
    // CHECK: exec.attention %{{.*}} head_dim 8 scale
    %o, %lse = graph.attention %q, %k, %k scale 0.25
      : (tensor<2x4x2x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>) -> (tensor<2x4x2x8xf32>, tensor<2x2x4xf32>)
    // CHECK: exec.attention_grad %{{.*}} to %attention_grad.0, %attention_grad.1, %attention_grad.2 {{.*}} head_dim 8 scale
    %dq, %dk, %dv = graph.attention_grad %q, %k, %k, %o, %lse, %o scale 0.25
      : (tensor<2x4x2x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x2x8xf32>, tensor<2x2x4xf32>,
         tensor<2x4x2x8xf32>) -> (tensor<2x4x2x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>)
    %a = graph.reshape %qs : tensor<2x4x16xf32> -> tensor<8x16xf32>
    %b = graph.reshape %ks : tensor<2x4x8xf32> -> tensor<8x8xf32>
    %0 = graph.matmul %a transposed, %b : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// With dropout: the global index of the first sample (dp) and of the first query head (tp, two per kv head), and how many
// heads there are without padding. The second micro-batch starts at sample 8: its scalar moves on by 8.
// CHECK-LABEL: module @attention_dropout
// CHECK:         exec.input "tokens" %tokens shape [2, 4, 4] axes {{\[\[}}], [0], []]{{$}}
// CHECK:         exec.scalar seed %seed
// CHECK:         exec.scalar step %step
module @attention_dropout attributes {graph.micro_batches = 2 : i64} {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @q : tensor<4x4x4x8xf32> init zeros
  graph.parameter @k : tensor<4x4x2x8xf32> init zeros
  graph.func @microbatch(%t: tensor<4x4xi32> {graph.input = "tokens", graph.placement = #graph.placement<[shard(0), replicate]>}) {
    %q = graph.get @q : tensor<4x4x4x8xf32>
    %k = graph.get @k : tensor<4x4x2x8xf32>
    %seed = graph.input seed : tensor<i64>
    %step = graph.input step : tensor<f32>
    // CHECK:      exec.attention %q, %k, %k to %[[O:.*]], %[[LSE:.*]] batch 4 queries 4 keys 4 heads 4 kv_heads 2 head_dim 8
    // CHECK-SAME:   scale 2.500000e-01 dropout 1.000000e-01 id <7> key(%seed, %step) first(<0 + 4 * axis 0 + 8 * micro_batch>, <0 + 4 * axis 1>) of 6{{$}}
    %o, %lse = graph.attention %q, %k, %k scale 0.25 dropout 0.1 id 7 key(%seed, %step)
        {windows = [#graph.window<loop = 0, local = 4, global = 8, axes = [0]>, #graph.window<loop = 1, local = 2, global = 3, axes = [1]>]}
      : (tensor<4x4x4x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>, tensor<i64>, tensor<f32>)
      -> (tensor<4x4x4x8xf32>, tensor<4x4x4xf32>)
    // CHECK-NEXT: exec.attention_grad %q, %k, %k, %[[O]], %[[LSE]], %[[O]] to %{{.*}}, %{{.*}}, %{{.*}} scratch %{{.*}} batch 4
    // CHECK-SAME:   dropout 1.000000e-01 id <7> key(%seed, %step) first(<0 + 4 * axis 0 + 8 * micro_batch>, <0 + 4 * axis 1>) of 6{{$}}
    %dq, %dk, %dv = graph.attention_grad %q, %k, %k, %o, %lse, %o scale 0.25 dropout 0.1 id 7 key(%seed, %step)
        {windows = [#graph.window<loop = 0, local = 4, global = 8, axes = [0]>, #graph.window<loop = 1, local = 2, global = 3, axes = [1]>]}
      : (tensor<4x4x4x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x4x8xf32>, tensor<4x4x4xf32>,
         tensor<4x4x4x8xf32>, tensor<i64>, tensor<f32>) -> (tensor<4x4x4x8xf32>, tensor<4x4x2x8xf32>, tensor<4x4x2x8xf32>)
    // CHECK-NEXT: }
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Ranks that share out the query heads of a kv head: four for each of two kv heads, split over axis 0 and axis 1.
// CHECK-LABEL: module @attention_groups
module @attention_groups {
  shard.grid @mesh(shape = 2x2) {graph.axis_names = ["tp.kv", "tp.group"]}
  graph.parameter @q : tensor<4x4x2x8xf32> init zeros
  graph.parameter @k : tensor<4x4x1x8xf32> init zeros
  graph.func @microbatch(%t: tensor<4x4xi32> {graph.input = "tokens"}) {
    %q = graph.get @q : tensor<4x4x2x8xf32>
    %k = graph.get @k : tensor<4x4x1x8xf32>
    %seed = graph.input seed : tensor<i64>
    %step = graph.input step : tensor<f32>
    // CHECK: exec.attention %q, %k, %k {{.*}} first(<0>, <0 + 4 * axis 0 + 2 * axis 1>) of 8{{$}}
    %o, %lse = graph.attention %q, %k, %k scale 0.25 dropout 0.1 id 7 key(%seed, %step)
        {windows = [#graph.window<loop = 1, local = 1, global = 2, axes = [0]>, #graph.window<loop = 2, local = 2, global = 4, axes = [1]>]}
      : (tensor<4x4x2x8xf32>, tensor<4x4x1x8xf32>, tensor<4x4x1x8xf32>, tensor<i64>, tensor<f32>)
      -> (tensor<4x4x2x8xf32>, tensor<4x2x4xf32>)
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Ids are global: a rank looks up its own rows, and every rank's gradient starts from zero.
// CHECK-LABEL: module @embedding
module @embedding {
  shard.grid @mesh(shape = 1x4) {graph.axis_names = ["dp", "tp"]}
  graph.parameter @table : tensor<16x5xf32> init zeros
  graph.func @microbatch(%t: tensor<2x8xi32> {graph.input = "tokens"}) {
    %table = graph.get @table : tensor<16x5xf32>
    // CHECK: exec.embedding %table, %tokens to %embedding.0 rows 16 columns 5 tokens 16 first_row <0>{{$}}
    %0 = graph.embedding %table, %t : (tensor<16x5xf32>, tensor<2x8xi32>) -> tensor<2x8x5xf32>
    // CHECK-NEXT: exec.embedding %table, %tokens to %embedding.1 rows 16 columns 5 tokens 16 first_row <0 + 16 * axis 1>{{$}}
    %1 = graph.embedding %table, %t {windows = [#graph.window<loop = 3, local = 16, global = 61, axes = [1]>]}
      : (tensor<16x5xf32>, tensor<2x8xi32>) -> tensor<2x8x5xf32>
    // An axis of one rank has all rows.
    // CHECK-NEXT: exec.embedding %table, %tokens to %embedding.2 rows 16 columns 5 tokens 16 first_row <0>{{$}}
    %2 = graph.embedding %table, %t {windows = [#graph.window<loop = 3, local = 16, global = 16, axes = [0]>]}
      : (tensor<16x5xf32>, tensor<2x8xi32>) -> tensor<2x8x5xf32>
    // CHECK-NEXT: exec.embedding_grad %tokens, %embedding.1 to %embedding_grad.0 rows 16 columns 5 tokens 16 first_row <0 + 16 * axis 1>{{$}}
    %3 = graph.embedding_grad %t, %1 {windows = [#graph.window<loop = 3, local = 16, global = 61, axes = [1]>]}
      : (tensor<2x8xi32>, tensor<2x8x5xf32>) -> tensor<16x5xf32>
    // A rank's rows in two pieces: looked up piece by piece, and what is not in one is 0.
    // CHECK-NEXT: exec.embedding %table.0, %tokens to %embedding.3 rows 8 columns 5 tokens 16 first_row <0 + 8 * axis 1>
    // CHECK-NEXT: exec.embedding %table.1, %tokens to %piece rows 8 columns 5 tokens 16 first_row <56 - 8 * axis 1>
    // CHECK-NEXT: exec.copy %piece to %embedding.3 {{.*}} accumulate
    %4 = graph.embedding %table, %t {windows = [#graph.window<loop = 3, local = 16, global = 64, axes = [1] zigzag 1>]}
      : (tensor<16x5xf32>, tensor<2x8xi32>) -> tensor<2x8x5xf32>
    // Padding is a global id, too.
    // CHECK-NEXT: exec.embedding_grad %tokens, %embedding.1 to %embedding_grad.1 rows 16 columns 5 tokens 16 first_row <0 + 16 * axis 1> padding 17{{$}}
    %6 = graph.embedding_grad %t, %1 padding 17 {windows = [#graph.window<loop = 3, local = 16, global = 61, axes = [1]>]}
      : (tensor<2x8xi32>, tensor<2x8x5xf32>) -> tensor<16x5xf32>
    // CHECK-NEXT: exec.embedding_grad %tokens, %embedding.3 to %embedding_grad.2.0 rows 8 columns 5 tokens 16 first_row <0 + 8 * axis 1>
    // CHECK-NEXT: exec.embedding_grad %tokens, %embedding.3 to %embedding_grad.2.1 rows 8 columns 5 tokens 16 first_row <56 - 8 * axis 1>
    %5 = graph.embedding_grad %t, %4 {windows = [#graph.window<loop = 3, local = 16, global = 64, axes = [1] zigzag 1>]}
      : (tensor<2x8xi32>, tensor<2x8x5xf32>) -> tensor<16x5xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Groups are how many times fewer channels the weight has; the batch of a weight's gradient is summed in up to 8 pieces.
// CHECK-LABEL: module @convolution
module @convolution {
  graph.parameter @x : tensor<3x4x9x8xf32> init zeros
  graph.parameter @w : tensor<6x2x3x5xf32> init zeros
  graph.parameter @dy : tensor<3x6x5x8xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<3x4x9x8xf32>
    %w = graph.get @w : tensor<6x2x3x5xf32>
    %dy = graph.get @dy : tensor<3x6x5x8xf32>
    // CHECK: exec.conv2d %x, %w to %conv2d.0 batch 3 channels 4 filters 6 groups 2 image 9 8 kernel 3 5 stride 2 1 padding 1 2 dilation 1 1{{$}}
    %0 = graph.conv2d %x, %w stride [2, 1] padding [1, 2] : (tensor<3x4x9x8xf32>, tensor<6x2x3x5xf32>) -> tensor<3x6x5x8xf32>
    // CHECK-NEXT: exec.conv2d_input_grad %dy, %w to %conv2d_input_grad.0 batch 3 channels 4 filters 6 groups 2 image 9 8 kernel 3 5 stride 2 1 padding 1 2 dilation 1 1{{$}}
    %1 = graph.conv2d_input_grad %dy, %w stride [2, 1] padding [1, 2] : (tensor<3x6x5x8xf32>, tensor<6x2x3x5xf32>) -> tensor<3x4x9x8xf32>
    // CHECK-NEXT: exec.conv2d_input_grad %dy, %w to %conv_transpose2d.0 batch 3 channels 4 filters 6 groups 2 image 9 8 kernel 3 5 stride 2 1 padding 1 2 dilation 1 1{{$}}
    %3 = graph.conv_transpose2d %dy, %w stride [2, 1] padding [1, 2] : (tensor<3x6x5x8xf32>, tensor<6x2x3x5xf32>) -> tensor<3x4x9x8xf32>
    // CHECK-NEXT: exec.conv2d_weight_grad %x, %dy to %conv2d_weight_grad.0 scratch %[[SCRATCH:[^ ]*]] batch 3 channels 4 filters 6 groups 2 image 9 8 kernel 3 5 stride 2 1 padding 1 2 dilation 1 1 pieces 3{{$}}
    %2 = graph.conv2d_weight_grad %x, %dy stride [2, 1] padding [1, 2] : (tensor<3x4x9x8xf32>, tensor<3x6x5x8xf32>) -> tensor<6x2x3x5xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// Rows of experts are multiplied as they lie; a gradient of transposed weights has its operands exchanged.
// CHECK-LABEL: module @groups
module @groups {
  graph.parameter @x : tensor<4x2x3x8xf32> init zeros
  graph.parameter @w : tensor<4x5x2x8xf32> init zeros
  graph.parameter @v : tensor<4x8x6xf32> init zeros
  graph.func @microbatch(%n: tensor<2x4xi32> {graph.input = "counts"}) {
    %x = graph.get @x : tensor<4x2x3x8xf32>
    %w = graph.get @w : tensor<4x5x2x8xf32>
    %v = graph.get @v : tensor<4x8x6xf32>
    // CHECK: exec.grouped_gemm %x, %w transposed by %counts to %grouped_linear.0 groups 4 samples 2 rows 24 k 8 n 10{{$}}
    %y = graph.grouped_linear %x, %w transposed by %n : (tensor<4x2x3x8xf32>, tensor<4x5x2x8xf32>, tensor<2x4xi32>) -> tensor<4x2x3x5x2xf32>
    // CHECK-NEXT: exec.grouped_gemm %x, %v by %counts to %grouped_linear.1 groups 4 samples 2 rows 24 k 8 n 6{{$}}
    %z = graph.grouped_linear %x, %v by %n : (tensor<4x2x3x8xf32>, tensor<4x8x6xf32>, tensor<2x4xi32>) -> tensor<4x2x3x6xf32>
    // CHECK-NEXT: exec.grouped_gemm %grouped_linear.0, %x by %counts to %{{.*}} groups 4 samples 2 rows 24 k 10 n 8 sums_rows{{$}}
    %0 = graph.grouped_linear_weight_grad %x, %y transposed by %n : (tensor<4x2x3x8xf32>, tensor<4x2x3x5x2xf32>, tensor<2x4xi32>) -> tensor<4x5x2x8xf32>
    // CHECK-NEXT: exec.grouped_gemm %x, %grouped_linear.1 by %counts to %{{.*}} groups 4 samples 2 rows 24 k 8 n 6 sums_rows{{$}}
    %1 = graph.grouped_linear_weight_grad %x, %z by %n : (tensor<4x2x3x8xf32>, tensor<4x2x3x6xf32>, tensor<2x4xi32>) -> tensor<4x8x6xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}

// -----
// A maximum is found again for its gradient; a mean needs nothing.
// CHECK-LABEL: module @pooling
module @pooling {
  graph.parameter @x : tensor<3x4x9x8xf32> init zeros
  graph.parameter @dy : tensor<3x4x4x5xf32> init zeros
  graph.func @microbatch() {
    %x = graph.get @x : tensor<3x4x9x8xf32>
    %dy = graph.get @dy : tensor<3x4x4x5xf32>
    // CHECK: exec.pool2d %x to %max_pool2d.0 max batch 3 channels 4 image 9 8 kernel 3 2 stride 2 2 padding 0 1{{$}}
    %0 = graph.max_pool2d %x kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<3x4x9x8xf32> -> tensor<3x4x4x5xf32>
    // CHECK-NEXT: exec.pool2d %x to %avg_pool2d.0 batch 3 channels 4 image 9 8 kernel 3 2 stride 2 2 padding 0 1{{$}}
    %1 = graph.avg_pool2d %x kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<3x4x9x8xf32> -> tensor<3x4x4x5xf32>
    // CHECK-NEXT: exec.pool2d_grad %dy of %x to %max_pool2d_grad.0 max batch 3
    %2 = graph.max_pool2d_grad %x, %dy kernel [3, 2] stride [2, 2] padding [0, 1] : (tensor<3x4x9x8xf32>, tensor<3x4x4x5xf32>) -> tensor<3x4x9x8xf32>
    // CHECK-NEXT: exec.pool2d_grad %dy to %avg_pool2d_grad.0 batch 3
    %3 = graph.avg_pool2d_grad %dy kernel [3, 2] stride [2, 2] padding [0, 1] : tensor<3x4x4x5xf32> -> tensor<3x4x9x8xf32>
    graph.return
  }
  graph.func @update() {
    graph.return
  }
}
