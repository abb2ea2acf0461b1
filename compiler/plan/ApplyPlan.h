// Writes a plan's decisions into a model.
#pragma once

#include "compiler/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Checks that `plan` can be compiled today (pp = cp = ep = 1, f32, no recomputation, ...). Returns
// "" or one message that names the key and the nearest choice that can.
std::string whyNotExecutable(const Plan &plan);

// Gives the forward model its mesh (dp x tp), its parameters' placements and the attributes that
// partitioning reads. Parameters that the plan does not name, or names wrongly, are errors
// (diagnostics).
llvm::LogicalResult applyPlan(mlir::ModuleOp module, const Plan &plan);

// The placements that the module's parameters carry, in the plan's form.
void recordPlacements(mlir::ModuleOp module, Plan &plan);

} // namespace dtc
