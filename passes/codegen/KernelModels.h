// Attaches KernelOpInterface to the ops of the graph dialect, family by family.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/KernelBuilder.h"

namespace dtc {

void attachNormKernels(mlir::MLIRContext *context);
void attachSoftmaxKernels(mlir::MLIRContext *context);
void attachCrossEntropyKernels(mlir::MLIRContext *context);
void attachReduceKernels(mlir::MLIRContext *context);
void attachPartKernels(mlir::MLIRContext *context);
void attachRotaryKernels(mlir::MLIRContext *context);

} // namespace dtc
