// The capacity of experts in a mixture of experts.
#pragma once

#include "dialects/graph/Graph.h"

namespace dtc::graph {

// The number of the loop over experts in dispatch, combine and the gradient of their weights
// (windows name it).
constexpr unsigned kExpertLoop = 0;

// Returns the number of experts on all ranks together: dim 0 of `rows`, or the size in the window
// of a split loop.
int64_t allExperts(mlir::RankedTensorType rows, std::optional<mlir::ArrayAttr> windows);

// Returns the rows of one expert for one group of tokens: ceil(group * top * capacity / experts),
// at least 1. Fails if the number does not fit into 64 bits. Example: (64, 2, 1.25, 8) -> 20.
llvm::FailureOr<int64_t> expertCapacity(int64_t group, int64_t top, double capacity,
                                        int64_t experts);

} // namespace dtc::graph
