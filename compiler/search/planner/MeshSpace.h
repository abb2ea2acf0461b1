// Enumerates the meshes that the planner may choose for one model on one cluster. Internal to this
// folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"
#include "compiler/support/Error.h"

#include <vector>

namespace dtc {

// Returns all meshes in a fixed order: devices on axes, kinds of context parallelism, order of
// axes, and micro-batch. The decisions of enumerateDetails are left at their defaults. Pins hold.
// Errors: a pin that can't divide, with the nearest value that does; a space without meshes.
Result<std::vector<Decisions>> enumerateMeshes(const SpaceLimits &limits, const Pins &pins);

} // namespace dtc
