// Passes that turn what no library computes into generated code.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace dtc {

#define GEN_PASS_DECL
#include "passes/codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/codegen/Passes.h.inc"

} // namespace dtc
