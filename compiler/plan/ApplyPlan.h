// Writes a plan's decisions into a model.
#pragma once

#include "compiler/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Gives the forward model its mesh (dp x tp), its parameters' placements and the attributes that
// partitioning reads. Parameters that the plan does not name, or names wrongly, are errors
// (diagnostics).
llvm::LogicalResult applyPlan(mlir::ModuleOp module, const Plan &plan);

// The placements that the module's parameters carry, in the plan's form.
void recordPlacements(mlir::ModuleOp module, Plan &plan);

} // namespace dtc
