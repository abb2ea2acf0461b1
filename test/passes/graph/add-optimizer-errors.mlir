// RUN: not dtc-opt %s --dtc-add-optimizer=optimizer=adam 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not dtc-opt %s --dtc-add-optimizer 2>&1 | FileCheck %s --check-prefix=ORDER
// NAME:  error: 'adam' is not an optimizer that dtc can build; use adamw, sgd, lamb, lars or muon
// ORDER: error: dtc-add-optimizer needs '@microbatch' and no '@update'; run dtc-differentiate first, once
module {}
