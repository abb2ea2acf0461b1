// The way from the samples of a step to the value that a state takes (graph.observe).
#pragma once

#include "dialects/graph/StateOps.h"

#include "llvm/ADT/SetVector.h"

namespace dtc {

// The values that a function makes the next value of a state of, before the batch is bound.
struct StateSources {
  // Results without the batch of ops that read values with it: sums, means and maxima, of which
  // ranks have parts.
  llvm::SetVector<mlir::Value> overSamples;
  // Arguments of the function without the batch.
  llvm::SetVector<mlir::Value> arguments;
};

// Returns the sources of the value that an op observes. Call it before the batch is bound.
StateSources sourcesOf(graph::ObserveOp observe);

// Returns true if a state takes its value from all samples of a step at once, so that a step has
// one micro-batch: a maximum, or a function of sums, means or maxima. Call it before the batch is
// bound.
bool takesWholeBatch(graph::ObserveOp observe);

// Puts a graph.finish behind each sum, mean and maximum over samples of which the function makes
// what a state takes last. Call it before the batch is bound.
void finishSources(graph::ObserveOp observe);

} // namespace dtc
