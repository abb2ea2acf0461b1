// Builds the LAMB and LARS updates of one tensor.
#pragma once

#include "passes/graph/Passes.h"

#include "mlir/IR/Builders.h"

namespace dtc {

// Scalars that all tensors of a step share.
struct StepScalars {
  mlir::Value rate, step, clip, apply;
  mlir::Value seed; // null where no states are rounded at random
};

// Builds the LAMB update; returns the new tensor, then its new state. A tensor without weight decay
// (`decays` false: biases, weights of norms) moves at the learning rate itself, without a ratio, as
// in the authors' code for BERT (exclude_from_layer_adaptation) and NVIDIA's FusedLAMB. The norms
// are over the whole tensor: if it is split, the sums of squares are partial, and partitioning
// finishes them before the ratio reads them.
llvm::SmallVector<mlir::Value> buildLambStep(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value param, mlir::Value grad,
                                             mlir::ValueRange state, const StepScalars &scalars,
                                             const AddOptimizerOptions &options, bool decays);
// Builds the LARS update; arguments and results are those of buildLambStep.
llvm::SmallVector<mlir::Value> buildLarsStep(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value param, mlir::Value grad,
                                             mlir::ValueRange state, const StepScalars &scalars,
                                             const AddOptimizerOptions &options, bool decays);

} // namespace dtc
