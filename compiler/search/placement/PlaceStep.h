// Writes where everything in a step is: what partitioning obeys.
#pragma once

#include "compiler/decide/plan/OpSplits.h"
#include "compiler/search/placement/PlacementNetwork.h"

namespace dtc {

// Both work on a step after the graph phase, in a module with a mesh: every op gets its split,
// every argument and result its placement, and parameters and states theirs. What has one already
// keeps it. With one rank per axis but that of data there is nothing to choose. Errors
// (diagnostics): a batch that the data axis does not divide; splits that are not of this model,
// that a rule does not allow, or none where tensor parallelism needs them.

// Places a step by the splits of a plan.
llvm::LogicalResult placeStep(mlir::ModuleOp step, const OpSplits &planned);

// Places a step at the lowest cost; no feasible placement is an error.
llvm::LogicalResult placeStep(mlir::ModuleOp step, const PlacementCosts &costs,
                              const PlacementPrices &prices, TensorPattern pattern);

// The choice of the network's nodes that costs least: nothing where all is forbidden. Effort is
// limited in work and not by the clock, so that plans do not depend on the machine.
std::optional<std::vector<int32_t>> cheapestChoice(const solver::Problem &network);

} // namespace dtc
