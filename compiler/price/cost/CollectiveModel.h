// The analytic model of collectives, with constants in CollectiveConstants.cpp; CollectiveCost.h
// corrects it by measured curves.
#pragma once

#include "compiler/price/cost/Cost.h"
#include "llvm/ADT/SmallVector.h"

namespace dtc {

// Returns the algorithm of a collective of a homogeneous topology and its seconds; 0 seconds and no
// algorithm where nothing is sent.
CollectiveChoice modelChoice(CollectiveKind kind, double bytes, const RankGroup &group,
                             const Topology &topology);

// Seconds that the collective keeps a device's link of each level busy; the levels of `topology`.
// Collectives that run at the same time add theirs up. Of a homogeneous topology.
// Example: an all-reduce of 8 MB by {{8, 1}} on two DGX A100 is {64 us, 0}.
llvm::SmallVector<double> linkSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                                      const Topology &topology);

} // namespace dtc
