// RUN: not dtc-opt %s --dtc-set-precision=precision=fp8 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dtc-opt %s --dtc-set-precision=precision=bf16 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not dtc-opt %s --dtc-widen-gradients 2>&1 | FileCheck %s --check-prefix=WIDEN
// NAME:  error: 'fp8' is not a precision that dtc can compile; use f32, bf16 or f16
// ORDER: error: dtc-set-precision needs '@loss'; run it before dtc-differentiate
// WIDEN: error: dtc-widen-gradients needs '@microbatch'; run dtc-differentiate first
module {
  graph.func @elsewhere() {
    graph.return
  }
}
