// Weighted means beside other terms of a loss: what they divide by has to be known before backward.
#pragma once

#include "dialects/graph/Graph.h"
#include "passes/graph/SampleRows.h"

namespace dtc {

// Returns the weights that all weighted means of `loss` have, such as the counted targets; its batch is
// unbound. Fails after a diagnostic where they have different ones, or ones that inputs alone do not
// make in '@loss' itself: they could not be added up before the micro-batches run.
llvm::FailureOr<mlir::Value> findStepWeights(graph::FuncOp loss);

// Makes '@prepare' and declares the state that it sets: rows of the step over the sum of their weights.
// Its batch is unbound, as that of `loss`. `rows` gets the rows per sample of its values, too.
// `rowsOfStep` are those of `weights` in all micro-batches.
void buildPrepare(graph::FuncOp loss, mlir::Value weights, int64_t rowsOfStep,
                  llvm::DenseMap<mlir::Value, int64_t> &rows, const SampleRows &rowsOfLoss);

} // namespace dtc
