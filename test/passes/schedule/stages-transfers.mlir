// An order that says where transfers are, as GPUs have it: the programs of stages.mlir, in which the second stage receives
// the input of micro-batch 1 before it computes the gradients of micro-batch 0, and the first one sends after it has received.
// RUN: sed -e 's/array<i64: 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 2, 1, 0, 1, 1, 0, 2>/array<i64: 0, 0, 0, 5, 0, 0, 0, 0, 1, 5, 0, 1, 0, 0, 2, 4, 0, 0, 5, 0, 2, 1, 0, 0, 4, 0, 1, 1, 0, 1, 4, 0, 2, 1, 0, 2>/' \
// RUN:   -e 's/array<i64: 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 2, 1, 1, 2>/array<i64: 3, 1, 0, 0, 1, 0, 3, 1, 1, 1, 1, 0, 6, 1, 0, 0, 1, 1, 3, 1, 2, 1, 1, 1, 6, 1, 1, 0, 1, 2, 1, 1, 2, 6, 1, 2>/' %S/stages.mlir \
// RUN:   | dtc-opt --pass-pipeline='builtin.module(builtin.module(dtc-schedule),dtc-merge-stages)' | FileCheck %s

// CHECK:       exec.program @stage_0
// CHECK:         exec.entry train order [@begin, @forward.0 0, @send_forward.0 0, @forward.0 1, @send_forward.0 1, @forward.0 2,
// CHECK-SAME:      @receive_backward.0 0, @send_forward.0 2, @backward.0 0, @receive_backward.0 1, @backward.0 1,
// CHECK-SAME:      @receive_backward.0 2, @backward.0 2, @gradients, @update]
// CHECK:         exec.entry evaluate order [@begin, @forward.0 0, @send_forward.0 0, @forward.0 1, @send_forward.0 1,
// CHECK-SAME:      @forward.0 2, @send_forward.0 2]

// CHECK:       exec.program @stage_1
// CHECK:         exec.entry train order [@begin, @receive_forward.1 0, @forward.1 0, @receive_forward.1 1, @backward.1 0,
// CHECK-SAME:      @send_backward.1 0, @forward.1 1, @receive_forward.1 2, @backward.1 1, @send_backward.1 1, @forward.1 2,
// CHECK-SAME:      @backward.1 2, @send_backward.1 2, @loss, @gradients, @update]
// CHECK:         exec.entry evaluate order [@begin, @receive_forward.1 0, @forward.1 0, @receive_forward.1 1, @forward.1 1,
// CHECK-SAME:      @receive_forward.1 2, @forward.1 2, @loss]
