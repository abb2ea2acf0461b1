// Writes a plan's decisions into a model.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Gives the forward model its mesh (stepMesh), its parameters' placements and the attributes that
// partitioning reads. Parameters that the plan does not name, or names wrongly, are errors
// (diagnostics).
llvm::LogicalResult applyPlan(mlir::ModuleOp module, const Plan &plan);

// Returns the mesh of one stage of the model under the decisions (stepMesh).
Mesh stageMesh(mlir::ModuleOp module, const Decisions &decisions);

// The placements on `mesh` that the module's parameters carry, in the plan's form.
void recordPlacements(mlir::ModuleOp module, const Mesh &mesh, Plan &plan);

} // namespace dtc
