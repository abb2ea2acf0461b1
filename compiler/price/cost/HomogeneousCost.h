// Seconds of collectives on homogeneous devices and links. Internal to this folder.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// Returns the algorithm of a collective of a homogeneous topology and its seconds, which measured
// curves correct; 0 seconds and no algorithm where nothing is sent.
CollectiveChoice homogeneousChoice(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology);

} // namespace dtc
