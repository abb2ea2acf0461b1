// Every rank has one program, ranks that meet mean the same, and none waits forever.
// RUN: dtc-opt %s -split-input-file --dtc-verify-programs -verify-diagnostics

// Two stages of two ranks each: forth and back for each of two micro-batches, and a sum of all.
exec.program @first mesh ["pp", "dp"] sizes [2, 2] ranks [0, 1] micro_batches 2 {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @forward per_micro_batch {
    exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
  }
  exec.task @backward per_micro_batch {
    exec.receive %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.collective all_reduce sum %y to %y over <"all", 4, [0, 1, 2, 3]> count 16 "y" gradient last
  }
  exec.entry train order [@forward 0, @backward 0, @forward 1, @backward 1]
}
exec.program @second mesh ["pp", "dp"] sizes [2, 2] ranks [2, 3] micro_batches 2 {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @both per_micro_batch {
    exec.receive %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.collective all_reduce sum %y to %y over <"all", 4, [0, 1, 2, 3]> count 16 "y" gradient last
  }
  exec.entry train order [@both 0, @both 1]
}

// -----
// The second micro-batch's send has no receiver before the first one is back.
exec.program @first mesh ["pp"] sizes [2] ranks [0] micro_batches 2 {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @forward per_micro_batch {
    // expected-error @+1 {{waits forever in entry 'train', rank 0, micro-batch 1, for rank 1}}
    exec.send %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline
  }
  exec.task @backward per_micro_batch {
    exec.receive %y over <"pp", 2, [0, 1]> shift 1 "dy" pipeline
  }
  exec.entry train order [@forward 0, @forward 1, @backward 0, @backward 1]
}
exec.program @second mesh ["pp"] sizes [2] ranks [1] micro_batches 2 {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @both per_micro_batch {
    exec.receive %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline
    // expected-note @+1 {{where that one waits: rank 1, micro-batch 0}}
    exec.send %y over <"pp", 2, [0, 1]> shift 1 "dy" pipeline
  }
  exec.entry train order [@both 0, @both 1]
}

// -----
// No receive.
exec.program @first mesh ["pp"] sizes [2] ranks [0] {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{waits forever in entry 'train', rank 0, for rank 1, which has ended}}
    exec.send %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["pp"] sizes [2] ranks [1] {
  exec.task @step {
  }
  exec.entry train order [@step]
}

// -----
exec.program @first mesh ["pp"] sizes [2] ranks [0] {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    // expected-note @+1 {{the other one}}
    exec.send %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["pp"] sizes [2] ranks [1] {
  %y = exec.buffer "y" activation i32 64 bytes
  exec.task @step {
    // expected-error @+1 {{of rank 1 meets one of rank 0 that moves something else}}
    exec.receive %y over <"pp", 2, [0, 1]> shift 1 "y" pipeline
  }
  exec.entry train order [@step]
}

// -----
exec.program @first mesh ["dp"] sizes [2] ranks [0] {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    // expected-note @+1 {{the other one}}
    exec.collective all_reduce sum %y to %y axes [0] count 16 "y" gradient
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["dp"] sizes [2] ranks [1] {
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{of rank 1 meets one of rank 0 that moves something else}}
    exec.collective all_reduce max %y to %y axes [0] count 16 "y" gradient
  }
  exec.entry train order [@step]
}

// -----
// Streams of one rank run side by side: what waits on the one is sent on the other.
exec.program @ring mesh ["cp"] sizes [3] streams 2 events 1 {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    exec.record 0
    exec.wait 0 stream 1
    exec.send %x over <"cp", 3, [0, 1, 2]> shift 1 "x" activation stream 1
    exec.receive %y over <"cp", 3, [0, 1, 2]> shift 2 "x" activation
  }
  exec.entry train order [@step]
}

// -----
exec.program @ring mesh ["cp"] sizes [3] {
  %x = exec.buffer "x" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  exec.task @step {
    // expected-error @+2 {{waits forever in entry 'train', rank 0, for rank 1}}
    // expected-note @+1 {{where that one waits: rank 1}}
    exec.send %x over <"cp", 3, [0, 1, 2]> shift 1 "x" activation
    exec.receive %y over <"cp", 3, [0, 1, 2]> shift 2 "x" activation
  }
  exec.entry train order [@step]
}

// -----
// expected-error @+1 {{is one of 1 programs, none of which is for rank 1}}
exec.program @first mesh ["dp"] sizes [2] ranks [0] {
}

// -----
exec.program @first mesh ["dp"] sizes [2] {
}
// expected-error @+1 {{is for rank 1, which runs 'first'}}
exec.program @second mesh ["dp"] sizes [2] ranks [1] {
}

// -----
exec.program @first mesh ["dp"] sizes [2] ranks [0] {
}
// expected-error @+1 {{has another mesh or other micro-batches than 'first'}}
exec.program @second mesh ["tp"] sizes [2] ranks [1] {
}

// -----
exec.program @first mesh ["dp"] sizes [2] ranks [0] {
  exec.entry train order []
  exec.entry evaluate order []
}
// expected-error @+1 {{lacks entry 'evaluate', which 'first' has}}
exec.program @second mesh ["dp"] sizes [2] ranks [1] {
  exec.entry train order []
}

// -----
exec.program @first mesh ["dp"] sizes [3] {
  %x = exec.buffer "x" activation f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{is over 'pair', in which rank 2 of the program has no list}}
    exec.send %x over <"pair", 2, [0, 1]> shift 1 "x" activation
  }
}

// -----
exec.program @first mesh ["dp"] sizes [2] {
  %x = exec.buffer "x" activation f32 64 bytes
  exec.task @step {
    // expected-error @+1 {{is over 'pair' with rank 2; the mesh has 2}}
    exec.send %x over <"pair", 3, [0, 1, 2]> shift 1 "x" activation
  }
}
