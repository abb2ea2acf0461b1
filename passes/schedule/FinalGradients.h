// The values of the update that are final gradients.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// The output of '@update' that scales gradients to those of the loss if they are not: for a
// weighted mean '@microbatch' returns the gradients of the sum divided by the number of rows, for a
// scaled loss those of the scaled loss.
inline constexpr llvm::StringLiteral kGradientScale = "gradient_scale";

// The gradient of a parameter on one rank, once it is summed over micro-batches and ranks.
struct FinalGradient {
  graph::ParameterOp parameter;
  mlir::Value value;
  graph::PlacementAttr placement; // null: every rank holds the whole gradient
};

// Returns the final gradient of each parameter whose gradient '@update' takes, in the order of its
// arguments: the value that results from the argument by ops that only move or add up data between
// ranks. Its placement is that of the parameter's state, which the update reads beside it, or of
// the parameter if there is no state. Requires that no repeats are left (dtc-inline-blocks).
llvm::SmallVector<FinalGradient> findFinalGradients(graph::FuncOp update);

} // namespace dtc
