// Distinguishes network links, over which no device reads another's memory. Internal to this
// folder.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// Returns true for InfiniBand, EFA and Ethernet.
bool isNetwork(LinkKind kind);

// Returns true if some ranks of a group reach each other only over a network.
// Example: 16 neighbouring GPUs of DGX H100 do; those of GB200 NVL72, where 72 GPUs share NVLink,
// do not.
bool spansNetwork(const RankGroup &group, const Topology &topology);

} // namespace dtc
