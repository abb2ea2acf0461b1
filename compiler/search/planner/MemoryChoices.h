// Enumerates the ways in which layers save memory: recomputation, and offload of the remaining
// saved activations to the host. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace dtc {

// The least and the most recomputation of a stage's layers.
struct RecomputeChoice {
  Recompute least, most;
};

// Returns the choices of recomputation of a mesh. A mix stands also for all layers doing its least.
// If chunks may recompute different numbers of layers, it stands for all ways between its least and
// its most that the software can mix (LayerMixes).
std::vector<RecomputeChoice> recomputeChoices(const Decisions &mesh, const SpaceLimits &limits,
                                              const Pins &pins);

// Returns the decisions with each choice of layers on the host. The choice Some covers None.
llvm::SmallVector<Decisions, 2> hostChoices(const Decisions &decisions, const SpaceLimits &limits,
                                            const Pins &pins);

} // namespace dtc
