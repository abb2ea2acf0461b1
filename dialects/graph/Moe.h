// What the ops of a mixture of experts agree on: how many rows an expert has.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// The loop over experts of dispatch, combine and the gradient of their weights (windows name it).
constexpr unsigned kExpertLoop = 0;

// Experts of all ranks together: dim 0 of `rows`, or what the window of a split loop says.
int64_t allExperts(mlir::RankedTensorType rows, std::optional<mlir::ArrayAttr> windows);

// Rows of one expert for one group of tokens: ceil(group * top * capacity / experts), at least 1.
// Fails where that is beyond what 64 bits count. Example: (64, 2, 1.25, 8) -> 20.
llvm::FailureOr<int64_t> expertCapacity(int64_t group, int64_t top, double capacity,
                                        int64_t experts);

} // namespace dtc::graph
