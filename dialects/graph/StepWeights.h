// Names by which passes refer to a weighted mean that stands beside other terms of a loss.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dtc::graph {

// The function that runs once per step, before the micro-batches: it reads the inputs of all of
// them.
constexpr llvm::StringLiteral kPrepareFunction = "prepare";
// The state that '@prepare' sets and '@microbatch' reads: the rows of the step over the sum of
// their weights, 0 if that sum is 0.
constexpr llvm::StringLiteral kWeightScaleState = "step.weight_scale";
// Name of the sum over micro-batches of the other terms (graph.accumulated).
constexpr llvm::StringLiteral kBesideSum = "beside";

} // namespace dtc::graph
