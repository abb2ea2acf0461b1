// RUN: not dtc-opt %s --dtc-bind-batch=batch=0 2>&1 | FileCheck %s
// CHECK: error: dtc-bind-batch needs a batch of 1 or more, not 0
module {}
