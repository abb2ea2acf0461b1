// Lists plans that engineers set by hand. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <vector>

namespace dtc {

// Returns plans that engineers set by hand: Megatron's (tensor parallelism inside a node, as few
// pipeline stages as fit, ZeRO-1) and FSDP's (ZeRO-3 over all devices), as far as limits and pins
// allow them.
std::vector<Decisions> expertTemplates(const SpaceLimits &limits, const Pins &pins,
                                       int64_t devicesPerNode);

} // namespace dtc
