// RUN: dtc-opt %s --dtc-merge-stages -verify-diagnostics

// A stage that was not scheduled.
module {
  // expected-error @+1 {{has 0 programs; want the one of its stage}}
  module @stage_0 attributes {graph.stage = 0 : i64} {
  }
}
