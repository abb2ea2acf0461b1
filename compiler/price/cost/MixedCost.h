// Seconds of collectives where devices or links differ. Internal to this folder.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// Returns the seconds of a collective in the group of `rank`, counting ranks from the first one
// that the group can have; ranks that the topology does not have are left out.
double secondsOfGroup(CollectiveKind kind, double bytes, const RankGroup &group,
                      const Topology &topology, int64_t rank);

// Returns the seconds of the slowest of all groups; `topology` has several device groups.
double secondsOfSlowestGroup(CollectiveKind kind, double bytes, const RankGroup &group,
                             const Topology &topology);

} // namespace dtc
