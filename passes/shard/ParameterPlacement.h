// Chooses where parameters live on the axis that splits weights.
#pragma once

#include "passes/shard/OpPlacement.h"

namespace dtc {

struct ParameterPlacementOptions {
  int weightAxis = -1; // the mesh axis over which weights may be split; -1: none
  PlacementPolicy policy;
};

// Sets `placement` on every graph.parameter of a forward model (`@loss` and its blocks, batch bound
// or not) that has none. Parameters that are passed to the same argument of a block share a
// placement.
//
// Method: weights of matrix products and embeddings are the variables, their dims and "whole" the
// values. For each block all combinations are tried (past `kMaxCombinations`, one variable after
// another until nothing improves); the cost of one is that of placing the block's ops by placeOp,
// plus the optimizer traffic of what is kept whole. Other parameters (biases, norms) go where their
// first user needs them. Fails after a diagnostic when the module has no '@loss'.
mlir::LogicalResult chooseParameterPlacements(mlir::ModuleOp module, const Mesh &mesh,
                                              const ParameterPlacementOptions &options);

} // namespace dtc
