// RUN: dtc-opt %s --pass-pipeline='builtin.module(exec.program(dtc-verify-exec))' -split-input-file -verify-diagnostics

// expected-error @+1 {{has no arena size; run dtc-plan-memory first}}
exec.program @unplanned mesh ["dp"] sizes [1] {}

// -----
exec.program @shared mesh ["dp"] sizes [1] arena 64 bytes {
  // expected-note @+1 {{the other buffer}}
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  // expected-error @+1 {{'b' shares bytes with 'a', and both are live at one time}}
  %b = exec.buffer "b" temporary f32 64 bytes at 0
  exec.task @step {
    exec.zero %a
    exec.zero %b
    exec.zero %a
  }
}

// -----
exec.program @unwritten mesh ["dp"] sizes [1] arena 128 bytes {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  %b = exec.buffer "b" temporary f32 64 bytes at 64
  exec.task @step {
    // expected-error @+1 {{reads bytes 0 to 64 of 'a', which are not all written before}}
    exec.copy %a to %b sizes [16] from [1] at <0> into [1] at <0>
  }
}

// -----
exec.program @race mesh ["dp"] sizes [2] arena 64 bytes streams 2 {
  %a = exec.buffer "a" temporary f32 64 bytes at 0
  exec.task @step {
    // expected-note @+1 {{the other instruction}}
    exec.zero %a
    // expected-error @+1 {{uses 'a' at the same time as an instruction of another stream}}
    exec.collective all_reduce sum %a to %a axes [0] count 16 "a" gradient async stream 1
  }
}

// -----
exec.program @event mesh ["dp"] sizes [2] arena 64 bytes events 1 {
  exec.task @step {
    // expected-error @+1 {{waits for event 0, which no instruction before it records}}
    exec.wait 0
  }
}
