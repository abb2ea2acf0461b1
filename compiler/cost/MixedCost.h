// Seconds of collectives where devices or links differ. Internal to this folder.
#pragma once

#include "compiler/cost/Cost.h"

namespace dtc {

// Of the group of `rank`, whose ranks it counts from the first one that it can have; ranks that the
// topology does not have are left out.
double secondsOfGroup(CollectiveKind kind, double bytes, const RankGroup &group,
                      const Topology &topology, int64_t rank);

// Of the slowest of all groups; `topology` has parts.
double secondsOfSlowestGroup(CollectiveKind kind, double bytes, const RankGroup &group,
                             const Topology &topology);

} // namespace dtc
