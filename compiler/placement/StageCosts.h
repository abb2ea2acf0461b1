// Seconds of an op under a split, with those of the sums that it finishes within itself. Internal
// to this folder.
#pragma once

#include "compiler/placement/PlacementCosts.h"

namespace dtc {

// Where the split cuts a staged loop: those of the stages that partitioning makes of the op, and of
// the collectives between them, each tensor's once.
double secondsOfOp(mlir::Operation *op, const graph::OpRule &rule, llvm::ArrayRef<int> split,
                   const Mesh &mesh, const PlacementCosts &costs);

} // namespace dtc
