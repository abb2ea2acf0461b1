// Which links are a network: beyond it no device reads another's memory. Internal to this folder.
#pragma once

#include "compiler/cost/Cost.h"

namespace dtc {

bool isNetwork(LinkKind kind);

// Whether some ranks of a group reach each other over a network alone. Example: 16 neighbouring GPUs of
// DGX H100 do, of GB200 NVL72, where 72 GPUs share NVLink, they do not.
bool spansNetwork(const RankGroup &group, const Topology &topology);

} // namespace dtc
