// From a model as it is written to the one that all passes see.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dtc {

// Writes out the short forms of ops (dtc-complete-ops). Fails after a diagnostic.
llvm::LogicalResult completeModel(mlir::ModuleOp module);

// The same for a model that was just built; null where `written` is, or after a diagnostic.
// Example: completeModel(buildGpt2(context, config, 1024)).
mlir::OwningOpRef<mlir::ModuleOp> completeModel(mlir::OwningOpRef<mlir::ModuleOp> written);

} // namespace dtc
