// Step 2 of the lowering of kernels on a GPU: pointwise kernels as code for one block.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Step 2 on a GPU: replaces it by code for the unit of one block.
llvm::LogicalResult emitGpuPointwise(mlir::ModuleOp module);

} // namespace dtc
