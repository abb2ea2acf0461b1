// The placement of parameters and of the state of the optimizer at rest.
#pragma once

#include "passes/shard/Mesh.h"

namespace dtc {

// Returns the axes over whose ranks ZeRO spreads shards: the innermost one of data parallelism, and
// those of experts and of context parallelism, which split one dim together.
llvm::SmallVector<unsigned, 2> shardAxes(const Mesh &mesh);

// Returns the storage placement of a parameter that is used at `inUse` and spread over those axes
// that do not split it: along its first dim, so that gathered data is contiguous, else along the
// dim that divides best; `inUse` if no dim is left.
Placement shardedAtRest(mlir::RankedTensorType global, const Placement &inUse, const Mesh &mesh);

// Splits each state, under graph.zero >= 1, along the dim that divides best among those that the
// parameter does not split. A state without such a dim keeps the placement of its parameter.
void assignStatePlacements(mlir::ModuleOp module, const Mesh &mesh);

} // namespace dtc
