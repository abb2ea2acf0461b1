// Attaches KernelOpInterface to matrix products over groups of rows.
#pragma once

#include "passes/codegen/KernelModels.h"

namespace dtc {

// Attaches the kernels of matrix products over groups of rows.
void attachGroupedKernels(mlir::MLIRContext *context);

} // namespace dtc
