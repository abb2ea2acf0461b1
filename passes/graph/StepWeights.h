// Weighted means beside other terms of a loss: the sum of their weights must be known before
// backward.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/graph/SampleRows.h"

namespace dtc {

// Returns the weights that all weighted means of `loss` share, such as the counted targets; the
// batch of `loss` is unbound. Fails after a diagnostic if the means have different weights, or
// weights that are not computed in '@loss' from inputs alone: they could not be added up before the
// micro-batches run.
llvm::FailureOr<mlir::Value> findStepWeights(graph::FuncOp loss);

// Builds '@prepare' and declares the state that it sets: rows of the step over the sum of their
// weights. Its batch is unbound, as that of `loss`. Adds the rows per sample of its values to
// `rows`. `rowsOfStep` is the number of rows of `weights` in all micro-batches.
void buildPrepare(graph::FuncOp loss, mlir::Value weights, int64_t rowsOfStep,
                  llvm::DenseMap<mlir::Value, int64_t> &rows, const SampleRows &rowsOfLoss);

} // namespace dtc
