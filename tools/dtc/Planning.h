// Steps that planning and compiling share.
#pragma once

#include "compiler/planner/Planner.h"
#include "tools/dtc/Commands.h"

#include "mlir/IR/OwningOpRef.h"

namespace dtc {

// Loads the model; null after a message on `errors`.
mlir::OwningOpRef<mlir::ModuleOp> loadModelOf(mlir::MLIRContext &context,
                                              const PlanningFlags &flags,
                                              llvm::raw_ostream &errors = llvm::errs());

// What the flags ask of the planner.
Result<PlanRequest> requestOf(const PlanningFlags &flags, mlir::ModuleOp module);

// What a plan keeps of the flags and the request that it was made for.
PlanOrigin originOf(const PlanningFlags &flags, const PlanRequest &request, const Plan &plan);

} // namespace dtc
