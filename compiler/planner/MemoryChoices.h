// What layers of a mesh may do so that they keep less: what they recompute, and which have the rest on the host.
// Internal to this folder.
#pragma once

#include "compiler/planner/SearchSpace.h"

namespace dtc {

// What every layer recomputes at least, and what at most.
struct RecomputeChoice {
  Recompute least, most;
};

// A mix stands for all layers doing its least, too; and, where layers need not be as many of every chunk, for all
// ways between its least and its most that software can mix (StageCoster::findMixes).
std::vector<RecomputeChoice> recomputeChoices(const Decisions &mesh, const SpaceLimits &limits,
                                              const Pins &pins);

// The same with other layers on the host: where all are, all recompute the same.
Decisions withOnHost(Decisions decisions, LayersOnHost layers);

// Which layers may be on the host. Some of them stands for none.
llvm::SmallVector<LayersOnHost, 2> hostChoices(const Decisions &decisions,
                                               const SpaceLimits &limits, const Pins &pins);

} // namespace dtc
