// RUN: not dtc-opt %s --dtc-set-precision=precision=fp4 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dtc-opt %s --dtc-set-precision=precision=bf16 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not dtc-opt %s --dtc-widen-gradients 2>&1 | FileCheck %s --check-prefix=WIDEN
// NAME:  error: 'fp4' is not a precision; use f32, bf16, f16 or fp8
// ORDER: error: dtc-set-precision needs '@loss'; run it before dtc-differentiate
// WIDEN: error: dtc-widen-gradients needs '@microbatch'; run dtc-differentiate first
module {
  graph.func @elsewhere() {
    graph.return
  }
}
