// Attaches KernelOpInterface to the ops of rows of experts that are on several ranks.
#pragma once

#include "passes/codegen/KernelModels.h"

namespace dtc {

// Attaches the kernels that order the rows of blocks, and copy them into that order and back.
void attachExchangeKernels(mlir::MLIRContext *context);

} // namespace dtc
