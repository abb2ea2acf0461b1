// Which values of the update are the gradients that parameters follow.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc {

// The output of '@update' that makes gradients those of the loss, where they are not: of a weighted
// mean '@microbatch' returns the gradients of the sum divided by all rows, of a scaled loss those of
// the scaled one.
inline constexpr llvm::StringLiteral kGradientScale = "gradient_scale";

// The gradient of a parameter when it is summed up over micro-batches and ranks, on one rank.
struct FinalGradient {
  graph::ParameterOp parameter;
  mlir::Value value;
  graph::PlacementAttr placement; // null: whole on every rank
};

// One for each parameter whose gradient '@update' takes, in the order of its arguments: what becomes
// of the argument by ops that only move or add up data between ranks, placed as the parameter's
// state, which the update reads beside it, or as the parameter where it has none. Of repeats there
// are none left (dtc-inline-blocks).
llvm::SmallVector<FinalGradient> findFinalGradients(graph::FuncOp update);

} // namespace dtc
