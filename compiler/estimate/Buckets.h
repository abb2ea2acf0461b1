// Buckets in which gradients and parameters travel between replicas.
#pragma once

#include "compiler/cost/Cost.h"

namespace dtc {

// In place of a size of buckets: as many as Megatron-Core makes, each on its way as soon as it is
// full. The share of the passes that hides them is the stack's, whatever the last one takes.
constexpr int64_t kStackBuckets = 0;

// Collectives of gradients and parameters travel in buckets that grow with the group, as
// Megatron-Core's do (40 M elements of 4 bytes, or 1 M for each rank). 0 where there is nothing to
// send. Example: 320 MB between 8 ranks are 2 buckets.
int64_t bucketsOf(double bytes, const RankGroup &group);

// All buckets, one after another.
double bucketedSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                       const Topology &topology);

} // namespace dtc
