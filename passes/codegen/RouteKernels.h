// Attaches KernelOpInterface to the ops of mixtures of experts.
#pragma once

#include "passes/codegen/KernelModels.h"

namespace dtc {

// Attaches the kernels of routers, of the order of choices, and of the rows that they move.
void attachRouteKernels(mlir::MLIRContext *context);

} // namespace dtc
