// Steps that planning and compiling share.
#pragma once

#include "compiler/search/planner/Planner.h"
#include "tools/dtc/Commands.h"

#include "mlir/IR/OwningOpRef.h"

namespace dtc {

// Loads the model. Returns null after a message on `errors`.
mlir::OwningOpRef<mlir::ModuleOp> loadModelOf(mlir::MLIRContext &context,
                                              const PlanningFlags &flags,
                                              llvm::raw_ostream &errors = llvm::errs());

// Returns the request that the flags make of the planner. Errors: a flag with a value that is not
// valid.
Result<PlanRequest> requestOf(const PlanningFlags &flags, mlir::ModuleOp module);

// Returns what a plan records of its flags and its request.
PlanOrigin originOf(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan);

} // namespace dtc
