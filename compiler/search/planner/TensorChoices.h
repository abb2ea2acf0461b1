// Chooses tensor-parallel degrees per device group on heterogeneous systems. Internal to this
// folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

namespace dtc {

// Returns the tensor-parallel degrees of the device groups, each of which holds whole stages: first
// equal degrees, then all others that divide the mesh's micro-batch. Pins of tp, dp or the
// micro-batch apply to all stages, unless degrees of groups are pinned, too.
std::vector<TensorOfParts> tensorChoices(const Decisions &mesh, const SpaceLimits &limits,
                                         const Pins &pins);

} // namespace dtc
