// Step 2 of the lowering of kernels on a processor: pointwise kernels as vector code.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace dtc {

// Step 2. Replaces every linalg.generic of a kernel by vector code in loops over the units.
llvm::LogicalResult vectorizeKernels(mlir::ModuleOp module);

} // namespace dtc
