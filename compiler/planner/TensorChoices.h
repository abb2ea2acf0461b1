// Tensor parallelism of the parts of a system of unlike devices. Internal to this folder.
#pragma once

#include "compiler/planner/SearchSpace.h"

namespace dtc {

// Ranks of tensor parallelism of the parts of a system of unlike devices, each of which holds whole stages: first as many
// on all, then all others that the mesh's micro-batch can be divided by. Pins of tp, dp or the micro-batch are of all
// stages, unless those of parts are pinned, too.
std::vector<TensorOfParts> tensorChoices(const Decisions &mesh, const SpaceLimits &limits,
                                         const Pins &pins);

} // namespace dtc
