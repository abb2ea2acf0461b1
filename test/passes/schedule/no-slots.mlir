// RUN: dtc-opt %s --dtc-lower-to-exec='slots=0' -verify-diagnostics

// expected-error @+1 {{is to be scheduled with 0 slots; want 1 or more}}
module @empty {}
