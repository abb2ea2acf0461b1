// Attaches KernelOpInterface to the ops of the graph dialect, family by family.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/codegen/KernelBuilder.h"

namespace dtc {

// Attaches the kernels of layer_norm, rms_norm and their gradients.
void attachNormKernels(mlir::MLIRContext *context);
// Attaches the kernels of softmax and its gradient.
void attachSoftmaxKernels(mlir::MLIRContext *context);
// Attaches the kernels of cross_entropy, its gradient and their partial ops.
void attachCrossEntropyKernels(mlir::MLIRContext *context);
// Attaches the kernels of reduce and sum_squares.
void attachReduceKernels(mlir::MLIRContext *context);
// Attaches the kernel of the cumulative sum.
void attachCumsumKernels(mlir::MLIRContext *context);
// Attaches the kernels of gather, scatter_add and top_k.
void attachGatherKernels(mlir::MLIRContext *context);
// Attaches the kernels of sums in two steps.
void attachPartKernels(mlir::MLIRContext *context);
// Attaches the kernel of rotary position embedding.
void attachRotaryKernels(mlir::MLIRContext *context);

} // namespace dtc
