// The registration of the kernels of ops.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace dtc {

// Attaches KernelOpInterface to the ops of the graph dialect.
void registerKernelInterfaces(mlir::DialectRegistry &registry);

} // namespace dtc
