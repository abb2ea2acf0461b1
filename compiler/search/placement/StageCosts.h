// Seconds of an op under a split, with those of the sums that it finishes within itself. Internal
// to this folder.
#pragma once

#include "compiler/search/placement/PlacementCosts.h"

namespace dtc {

// Returns the seconds of an op. If the split cuts a staged loop, sums the stages that partitioning
// makes of the op and the collectives between them, each tensor's once.
double secondsOfOp(mlir::Operation *op, const graph::OpRule &rule, llvm::ArrayRef<int> split,
                   const Mesh &mesh, const PlacementCosts &costs);

} // namespace dtc
