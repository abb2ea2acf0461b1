// Passes that decide the placement of tensors.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dtc {

#define GEN_PASS_DECL
#include "compiler/search/planner/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/search/planner/Passes.h.inc"

} // namespace dtc
