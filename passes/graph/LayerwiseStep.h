// What LAMB and LARS make of one tensor.
#pragma once

#include "passes/graph/Passes.h"

#include "mlir/IR/Builders.h"

namespace dtc {

// What all tensors of a step share.
struct StepScalars {
  mlir::Value rate, step, clip, apply;
};

// The new tensor, then its new state. A tensor without weight decay (`decays` false: biases,
// weights of norms) moves at the rate itself, by no ratio, as in the authors' code for BERT
// (exclude_from_layer_adaptation) and NVIDIA's FusedLAMB. Norms are of the whole tensor: where it
// is split, sums of squares are partial, and partitioning finishes them where the ratio reads them.
llvm::SmallVector<mlir::Value> buildLambStep(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value param, mlir::Value grad,
                                             mlir::ValueRange state, const StepScalars &scalars,
                                             const AddOptimizerOptions &options, bool decays);
llvm::SmallVector<mlir::Value> buildLarsStep(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value param, mlir::Value grad,
                                             mlir::ValueRange state, const StepScalars &scalars,
                                             const AddOptimizerOptions &options, bool decays);

} // namespace dtc
