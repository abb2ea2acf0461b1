// Tells network links, across which no device reads another's memory, from other links. Internal to
// this folder.
#pragma once

#include "compiler/cost/Cost.h"

namespace dtc {

// Returns true if a kind of link is a network.
bool isNetwork(LinkKind kind);

// Returns true if some ranks of a group reach each other over a network only. Example: 16
// neighbouring GPUs of DGX H100 do; those of GB200 NVL72, where 72 GPUs share NVLink, do not.
bool spansNetwork(const RankGroup &group, const Topology &topology);

} // namespace dtc
