// Enumerates the decisions that the planner may choose for a mesh. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <vector>

namespace dtc {

// Returns the mesh with every ZeRO stage, schedule, number of virtual stages and recomputation.
// Each is followed by itself with the optimizer on the host if that is allowed. ZeRO is over all of
// dp unless a pin says otherwise; enumerateGroups lists the groups.
std::vector<Decisions> enumerateDetails(const Decisions &mesh, const SpaceLimits &limits,
                                        const Pins &pins);

} // namespace dtc
