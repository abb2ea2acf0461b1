// RUN: dtc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{names 1 mesh axes and gives sizes of 2}}
exec.program @program_c1 mesh ["dp"] sizes [2, 2] {}

// -----
exec.program @program_c2 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{runs on stream 1; the program has 1 stream}}
    exec.zero %x stream 1
  }
}

// -----
exec.program @buffer_c1 mesh ["dp"] sizes [2] {
  // expected-error @+1 {{has 63 bytes; want a positive whole number of 'f32' of 4 bytes}}
  %x = exec.buffer "x" temporary f32 63 bytes
}

// -----
exec.program @buffer_c2 mesh ["dp"] sizes [2] {
  // expected-error @+1 {{'x' is at 32; want a multiple of 64 bytes}}
  %x = exec.buffer "x" temporary f32 64 bytes at 32
}

// -----
exec.program @buffer_c3 mesh ["dp"] sizes [2] arena 64 bytes {
  // expected-error @+1 {{'x' ends at 128 bytes; the arena has 64 bytes}}
  %x = exec.buffer "x" temporary f32 64 bytes at 64
}

// -----
exec.program @buffer_c3_host mesh ["dp"] sizes [2] arena 128 bytes host 64 bytes {
  // expected-error @+1 {{'x' ends at 128 bytes; the arena of the host has 64 bytes}}
  %x = exec.buffer "x" optimizer f32 64 bytes space host at 64
}

// -----
exec.program @buffer_c5 mesh ["dp"] sizes [2] {
  // expected-error @+1 {{'x' is of kind gradient, which is in the memory of the device}}
  %x = exec.buffer "x" gradient f32 64 bytes space host
}

// -----
exec.program @program_c6 mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes space host
  exec.kernel @k buffers [64, 64]
  exec.task @step {
    exec.zero %y
    // expected-error @+1 {{uses 'y' of the host's memory; want all its buffers in one memory}}
    exec.launch @k(%y) to(%x) range 1
  }
}

// -----
exec.program @program_c6_gemm mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary f32 64 bytes space host
  %y = exec.buffer "y" temporary f32 64 bytes space host
  exec.task @step {
    // expected-error @+1 {{uses 'x' of the host's memory; want buffers of the device's}}
    exec.gemm %x, %x to %y sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// -----
exec.program @program_c6_sum mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes space host
  %v = exec.view %y "v" f32 32 bytes at 32
  exec.task @step {
    // expected-error @+1 {{uses 'v' of the host's memory; want all its buffers in one memory}}
    exec.copy %x to %v sizes [8] from [1] at <0> into [1] at <0> accumulate
  }
}

// -----
exec.program @view_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  // expected-error @+1 {{'v' takes 64 bytes from 4 on; 'x' has 64 bytes}}
  %v = exec.view %x "v" f32 64 bytes at 4
}

// -----
exec.program @parameter_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "w" parameter f32 16 bytes
  // expected-error @+1 {{'w' has local shape [4]; global shape, axes and mesh give [3]}}
  exec.parameter "w" %x global [5] stored [5] local [4] axes [[0]] init zeros
}

// -----
exec.program @parameter_c4 mesh ["dp", "tp"] sizes [2, 2] {
  %x = exec.buffer "w" parameter f32 16 bytes
  // expected-error @+1 {{splits two dims over mesh axis 1}}
  exec.parameter "w" %x global [4, 4] stored [16] local [2, 2] axes [[1], [1]] init zeros
}

// -----
exec.program @parameter_c5 mesh ["dp", "tp"] sizes [2, 2] {
  %x = exec.buffer "w" parameter f32 16 bytes
  // expected-error @+1 {{splits dim 0 zigzag over 2 mesh axes; want one at most}}
  exec.parameter "w" %x global [16] stored [16] local [4] axes [[0, 1]] zigzag [0, 1] init zeros
}

// -----
exec.program @parameter_c5_elsewhere mesh ["dp", "tp"] sizes [2, 2] {
  %x = exec.buffer "w" parameter f32 16 bytes
  // expected-error @+1 {{has zigzag axes [1], some of which split no dim}}
  exec.parameter "w" %x global [8] stored [8] local [4] axes [[0]] zigzag [1] init zeros
}

// -----
// Two pieces of ceil(9 / 8).
exec.program @parameter_two_pieces mesh ["dp", "tp"] sizes [2, 2] {
  %x = exec.buffer "w" parameter f32 12 bytes
  // expected-error @+1 {{'w' has local shape [3]; global shape, axes and mesh give [4]}}
  exec.parameter "w" %x global [9] stored [9] local [3] axes [[0, 1]] zigzag [1] init zeros
}

// -----
exec.program @launch_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{runs @k, which the program does not declare}}
    exec.launch @k() to (%x) range 1
  }
}

// -----
exec.program @launch_c3 mesh ["dp"] sizes [2] {
  exec.kernel @k buffers [128]
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{gives @k buffer 0 'x' of 64 bytes; it wants 128 bytes}}
    exec.launch @k() to (%x) range 1
  }
}

// -----
exec.program @gemm_c2 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 60 bytes
  exec.task @step {
    // expected-error @+1 {{has c 'y' of 60 bytes; want at least 64 bytes}}
    exec.gemm %x, %x to %y sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// -----
exec.program @gemm_c3 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{writes 'x', which it also reads}}
    exec.gemm %x, %x to %x sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// -----
exec.program @gemm_c5 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary bf16 32 bytes
  %w = exec.buffer "w" temporary bf16 32 bytes
  %y = exec.buffer "y" temporary f16 32 bytes
  exec.task @step {
    // expected-error @+1 {{multiplies 'bf16' by 'bf16' to 'f16'; want one type, or f32 for 'c'}}
    exec.gemm %x, %w to %y sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// -----
exec.program @grouped_gemm_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has a size of 0; want positive ones}}
    exec.grouped_gemm %x, %x by %n to %y groups 4 samples 1 rows 4 k 0 n 4
  }
}

// -----
exec.program @grouped_gemm_c1_counts mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %n = exec.buffer "n" temporary f32 16 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has counts 'n' of 'f32'; want 'i32'}}
    exec.grouped_gemm %x, %x by %n to %y groups 4 samples 1 rows 4 k 4 n 1
  }
}

// -----
exec.program @grouped_gemm_c2 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has b 'x' of 64 bytes; want at least 128 bytes}}
    exec.grouped_gemm %x, %x by %n to %y groups 4 samples 1 rows 4 k 4 n 2
  }
}

// -----
exec.program @grouped_gemm_c3 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary bf16 32 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  %y = exec.buffer "y" temporary f16 32 bytes
  exec.task @step {
    // expected-error @+1 {{multiplies 'bf16' by 'bf16' to 'f16'; want one type, or f32 for 'c'}}
    exec.grouped_gemm %x, %x by %n to %y groups 4 samples 1 rows 4 k 4 n 1
  }
}

// -----
exec.program @grouped_gemm_c4 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary bf16 32 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{adds to c of 'bf16'; want sums of rows in f32}}
    exec.grouped_gemm %x, %x by %n to %y groups 4 samples 1 rows 4 k 4 n 4 sums_rows accumulate
  }
}

// -----
exec.program @grouped_gemm_c4_transposed mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  %y = exec.buffer "y" temporary f32 256 bytes
  exec.task @step {
    // expected-error @+1 {{has 'transposed' and 'sums_rows'; want one of them}}
    exec.grouped_gemm %x, %x transposed by %n to %y groups 4 samples 1 rows 4 k 4 n 4 sums_rows
  }
}

// -----
exec.program @grouped_gemm_c5 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  %y = exec.buffer "y" temporary f32 256 bytes
  exec.task @step {
    // expected-error @+1 {{has 'starts_sum', but does not add to 'y'}}
    exec.grouped_gemm %x, %x by %n to %y groups 4 samples 1 rows 4 k 4 n 4 sums_rows starts_sum
  }
}

// -----
exec.program @grouped_gemm_c6 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %n = exec.buffer "n" temporary i32 16 bytes
  exec.task @step {
    // expected-error @+1 {{writes 'x', which it also reads}}
    exec.grouped_gemm %x, %x by %n to %x groups 1 samples 4 rows 4 k 4 n 4
  }
}

// -----
exec.program @gemm_c5_ids mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary i32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has a 'x' of 'i32'; want f32, bf16 or f16}}
    exec.gemm %x, %x to %y sizes [4, 4, 4] strides [4, 4, 4]
  }
}

// -----
exec.program @gemm_c2_bias mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %b = exec.buffer "b" temporary bf16 8 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{has bias 'b' of 8 bytes; want at least 16 bytes}}
    exec.gemm %x, %x bias %b to %y sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c5_addend mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %r = exec.buffer "r" temporary f32 256 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{has addend 'r' of 'f32'; want 'bf16'}}
    exec.gemm %x, %x plus %r to %y sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c3_addend mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{writes 'y', which it also reads}}
    exec.gemm %x, %x plus %y to %y sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c3_twice mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %b = exec.buffer "b" temporary bf16 16 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{writes 'y' twice}}
    exec.gemm %x, %x bias %b gelu to %y keeps %y sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c6_keeps mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %b = exec.buffer "b" temporary bf16 16 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  %z = exec.buffer "z" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{keeps what GELU is of, and takes no GELU}}
    exec.gemm %x, %x bias %b to %y keeps %z sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c6_grad mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %b = exec.buffer "b" temporary bf16 16 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  %z = exec.buffer "z" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{has 'gelu_grad', and does more than that}}
    exec.gemm %x, %x bias %b gelu_grad %z to %y sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c6_gelu mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{takes GELU of a sum without a bias}}
    exec.gemm %x, %x gelu to %y sizes [8, 8, 8] strides [8, 8, 8]
  }
}

// -----
exec.program @gemm_c6_sum mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 128 bytes
  %b = exec.buffer "b" temporary bf16 16 bytes
  %y = exec.buffer "y" temporary bf16 128 bytes
  exec.task @step {
    // expected-error @+1 {{does more than multiply, and is added to c}}
    exec.gemm %x, %x bias %b to %y sizes [8, 8, 8] strides [8, 8, 8] beta 1.0
  }
}

// -----
exec.program @gemm_c6_batch mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary bf16 256 bytes
  %b = exec.buffer "b" temporary bf16 16 bytes
  %y = exec.buffer "y" temporary bf16 256 bytes
  exec.task @step {
    // expected-error @+1 {{does more than multiply, and is a batch of products}}
    exec.gemm %x, %x bias %b to %y sizes [8, 8, 8] strides [8, 8, 8] batch 2 batch_strides [64, 64, 64]
  }
}

// -----
exec.program @copy_c3 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{reaches elements 0 to 23 of source 'x', which has 16}}
    exec.copy %x to %y sizes [8] from [1] at <0 + 16 * axis 0> into [1] at <0>
  }
}

// -----
exec.program @collective_c2 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has destination 'y' of 64 bytes; want 128 bytes}}
    exec.collective all_gather sum %x to %y axes [0] count 16 "x" activation
  }
}

// -----
exec.program @collective_c4 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" activation f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{is on stream 1, but compute waits for it; only what is async leaves stream 0}}
    exec.collective all_reduce sum %x to %x axes [0] count 16 "x" activation stream 1
  }
}

// -----
exec.program @event_c1 mesh ["dp"] sizes [2] {
  exec.task @step {
    // expected-error @+1 {{names event 0; the program has 0 events}}
    exec.record 0
  }
}

// -----
exec.program @input_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" input f32 64 bytes persistent
  // expected-error @+1 {{'images' of shape [1, 4, 8] takes 128 bytes; its buffer has 64 bytes}}
  exec.input "images" %x shape [1, 4, 8] axes [[], [0], []]
}

// -----
exec.program @input_c2 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" input f32 64 bytes persistent
  // expected-error @+1 {{has shape [16]; want dims for micro-batches, samples and those of a sample}}
  exec.input "images" %x shape [16] axes [[0]]
}

// -----
exec.program @input_c2_axes mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" input f32 64 bytes persistent
  // expected-error @+1 {{has axes of 2 dims for 3 dims}}
  exec.input "images" %x shape [1, 2, 8] axes [[], [0]]
}

// -----
exec.program @scalar_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" input f32 4 bytes persistent
  // expected-error @+1 {{seed is in a buffer of 4 bytes of 'f32'; want one i64}}
  exec.scalar seed %x
}

// -----
exec.program @copy_terms mesh ["dp", "tp"] sizes [2, 2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 32 bytes
  exec.task @step {
    // expected-error @+1 {{reaches elements -4 to 15 of source 'x', which has 16}}
    exec.copy %x to %y sizes [8] from [1] at <4 + 4 * axis 0 - 8 * axis 1> into [1] at <0>
  }
}

// -----
exec.program @scalar_axis mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{a rank scalar names mesh axis 64, but axes are 0 to 63}}
    exec.copy %x to %x sizes [8] from [1] at <0 + 4 * axis 64> into [1] at <0>
  }
}

// -----
exec.program @outside mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary f32 64 bytes
  // expected-error @+1 {{is an instruction outside of a task; put it into an exec.task}}
  exec.zero %x
}

// -----
exec.program @inside mesh ["dp"] sizes [1] {
  exec.task @step {
    // expected-error @+1 {{is no instruction; put it in front of the tasks}}
    %x = exec.buffer "x" temporary f32 64 bytes
  }
}

// -----
// expected-error @+1 {{has 0 micro-batches; want 1 or more}}
exec.program @none mesh ["dp"] sizes [1] micro_batches 0 {}

// -----
exec.program @entry mesh ["dp"] sizes [1] {
  // expected-error @+1 {{runs @forward, which is no task of the program}}
  exec.entry train order [@forward 0]
}

// -----
exec.program @entry mesh ["dp"] sizes [1] micro_batches 2 {
  exec.task @forward per_micro_batch {
  }
  // expected-error @+1 {{runs @forward for micro-batch 2; want one of the program's 2}}
  exec.entry train order [@forward 2]
}

// -----
exec.program @entry mesh ["dp"] sizes [1] micro_batches 2 {
  exec.task @update {
  }
  // expected-error @+1 {{runs @update for micro-batch 0; want none}}
  exec.entry train order [@update 0]
}

// -----
exec.program @entry mesh ["dp"] sizes [1] micro_batches 2 {
  exec.task @forward per_micro_batch {
  }
  // expected-error @+1 {{runs @forward twice for one micro-batch}}
  exec.entry train order [@forward 0, @forward 0]
}

// -----
exec.program @kinds mesh ["dp"] sizes [1] {
  // expected-error @+1 {{'x' is more than one of persistent, carried and of slots}}
  %x = exec.buffer "x" temporary f32 64 bytes persistent carried
}

// -----
exec.program @slots mesh ["dp"] sizes [1] micro_batches 2 arena 67 bytes {
  // expected-error @+1 {{'x' ends at 68 bytes; the arena has 67 bytes}}
  %x = exec.buffer "x" temporary f32 4 bytes slots 2 at 0
}

// -----
exec.program @no_slots mesh ["dp"] sizes [1] micro_batches 2 {
  // expected-error @+1 {{'x' has 0 slots; want 1 or more}}
  %x = exec.buffer "x" temporary f32 64 bytes slots 0
}

// -----
exec.program @event_slots mesh ["dp"] sizes [1] micro_batches 2 events 2 {
  exec.task @forward per_micro_batch {
    // expected-error @+1 {{names event 2; the program has 2 events}}
    exec.record 1 slots 2
  }
}

// -----
exec.program @event_of_step mesh ["dp"] sizes [1] micro_batches 2 events 2 {
  exec.task @update {
    // expected-error @+1 {{has 2 slots; want 1 or more, and 1 in a task that is not of a micro-batch}}
    exec.record 0 slots 2
  }
}

// -----
exec.program @view mesh ["dp"] sizes [1] micro_batches 3 {
  %x = exec.buffer "x" input f32 128 bytes persistent
  // expected-error @+1 {{'y' takes 64 bytes from 0 on; 'x' has 128 bytes}}
  %y = exec.view %x "y" f32 64 bytes at 0 + 64 * micro_batch
}

// -----
exec.program @sum mesh ["dp"] sizes [1] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has 'starts_sum', but does not add to 'y'}}
    exec.copy %x to %y sizes [16] from [1] at <0> into [1] at <0> starts_sum
  }
}

// -----
exec.program @box mesh ["dp"] sizes [1] micro_batches 3 {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{reaches elements 0 to 17 of source 'x', which has 16}}
    exec.copy %x to %y sizes [8] from [1] at <0 + 5 * micro_batch> into [1] at <0>
  }
}

// -----
// expected-error @+1 {{is for ranks [1, 0]; want ascending ones of 2}}
exec.program @program_c5 mesh ["dp"] sizes [2] ranks [1, 0] {}

// -----
// expected-error @+1 {{is for ranks [0, 2]; want ascending ones of 2}}
exec.program @program_c5_outside mesh ["dp"] sizes [2] ranks [0, 2] {}

// -----
// expected-error @+1 {{is for no rank}}
exec.program @program_c5_none mesh ["dp"] sizes [2] ranks [] {}

// -----
exec.program @transfer_c1 mesh ["pp"] sizes [2] ranks [0] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{is with the rank 2 places further in a list of 2; want another one of the list}}
    exec.send %x over <"pp", 2, [0, 1]> shift 2 "x" pipeline
  }
}

// -----
exec.program @transfer_c1_itself mesh ["pp"] sizes [2] ranks [0] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{is with the rank 0 places further in a list of 2; want another one of the list}}
    exec.receive %x over <"pp", 2, [0, 1]> shift 0 "x" pipeline
  }
}

// -----
exec.program @ranks_whole_lists mesh ["pp"] sizes [4] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{ranks 'pp' are 3 in lists of 2; want whole lists of 1 or more}}
    exec.send %x over <"pp", 2, [0, 1, 2]> shift 1 "x" pipeline
  }
}

// -----
exec.program @ranks_once mesh ["pp"] sizes [4] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{ranks 'pp' have 1 twice}}
    exec.send %x over <"pp", 2, [0, 1, 1, 2]> shift 1 "x" pipeline
  }
}

// -----
exec.program @collective_c2_of_a_list mesh ["dp"] sizes [4] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{has destination 'y' of 64 bytes; want 128 bytes}}
    exec.collective all_gather sum %x to %y over <"pairs", 2, [0, 1, 2, 3]> count 16 "x" activation
  }
}

// -----
exec.program @collective_c5 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{is over axes [0] and over 'all'; want one of both}}
    "exec.collective"(%x, %x) <{kind = #exec<collective_kind all_reduce>, reduce = #exec<reduce_kind sum>, axes = array<i64: 0>, over = #exec.ranks<"all", 2, [0, 1]>, count = 16 : i64, name = "x", role = #exec<collective_role activation>, stream = 0 : i64}> : (!exec.buffer, !exec.buffer) -> ()
  }
}

// -----
exec.program @repeat_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{runs 1 instructions 1 times; want some, twice or more}}
    exec.repeat 1 {
      exec.zero %x
    }
  }
}

// -----
exec.program @repeat_c2 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %all = exec.per_layer [%x, %x] "all"
  exec.task @step {
    exec.repeat 3 {
      // expected-error @+1 {{uses 'all' of 2 layers in a repeat of 3}}
      exec.zero %all
    }
  }
}

// -----
exec.program @per_layer_c1 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 128 bytes
  // expected-error @+1 {{'all' has 'y' in layer 1, which is not like 'x' in layer 0}}
  %all = exec.per_layer [%x, %y] "all"
}

// -----
exec.program @per_layer_c2 mesh ["dp"] sizes [2] arena 512 bytes {
  %x = exec.buffer "x" temporary f32 64 bytes at 128
  %y = exec.buffer "y" temporary f32 64 bytes at 64
  %z = exec.buffer "z" temporary f32 64 bytes at 192
  // expected-error @+1 {{'all' has 'z' at 192 in layer 2; want 0}}
  %all = exec.per_layer [%x, %y, %z] "all"
}

// -----
exec.program @per_layer_c3 mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %all = exec.per_layer [%x, %x] "all"
  exec.task @step {
    // expected-error @+1 {{uses 'all', of which each layer has another, outside of an exec.repeat}}
    exec.zero %all
  }
}

// -----
exec.program @event_c1_in_a_layer mesh ["dp"] sizes [2] events 2 {
  exec.task @step {
    exec.repeat 3 {
      // expected-error @+1 {{names event 2; the program has 2 events}}
      exec.record 0 + 1 * layer
    }
  }
}

// -----
exec.program @copy_c3_in_a_layer mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" temporary f32 64 bytes
  %y = exec.buffer "y" temporary f32 64 bytes
  exec.task @step {
    exec.repeat 4 {
      // expected-error @+1 {{reaches elements 0 to 18 of source 'x', which has 16}}
      exec.copy %x to %y sizes [4] from [1] at <0 + 5 * layer> into [1] at <0>
    }
  }
}

// -----
exec.program @embedding_grad_c3 mesh ["dp"] sizes [1] {
  %ids = exec.buffer "ids" input i32 32 bytes
  %dout = exec.buffer "dout" temporary f32 512 bytes
  %grad = exec.buffer "grad" temporary f32 4096 bytes
  exec.task @step {
    // expected-error @+1 {{has padding -2, wanted -1 or an id}}
    exec.embedding_grad %ids, %dout to %grad rows 64 columns 16 tokens 8 first_row <0> padding -2
  }
}
