// Seconds that one collective takes. Analytic, with constants in CollectiveConstants.cpp; where the
// topology carries measured curves, corrected by them.
#pragma once

#include "compiler/price/cost/CollectiveModel.h"

namespace dtc {

// Seconds from the start to the last rank's end. `bytes` is the size of the whole, unsharded
// tensor: the input of all-reduce, reduce-scatter and broadcast, the output of all-gather, what one
// rank holds for all-to-all, the message of send-receive (to the next rank of the group). One rank
// or no bytes cost nothing. The least of the algorithms that the library of the hardware has: on
// GPUs NCCL's rings, trees and switches with its protocols; on a TPU's torus all axes at the same
// time; otherwise one ring, level by level, a tree, or the switch's reduction.
//
// The group of a heterogeneous topology, or of one with slow links, is that of `rank`, whose ranks
// it counts from the first one that it can have; without `rank` the slowest of all groups. Work of
// a stage on some ranks alone is costed on Topology::slice of them.
double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology);
// Returns the seconds of a collective of the group of `rank`; see above.
double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology, int64_t rank);

// The algorithm behind collectiveSeconds, and its seconds. Of a heterogeneous topology the
// algorithm is "ring over parts", of measured curves that of the model that they correct.
CollectiveChoice explainCollective(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology);

} // namespace dtc
