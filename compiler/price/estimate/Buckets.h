// Buckets in which gradients and parameters travel between replicas.
#pragma once

#include "compiler/price/cost/Cost.h"

namespace dtc {

// Stands for a bucket size: the buckets of Megatron-Core, each sent as soon as it is full. The
// share of the passes that hides them comes from the stack, whatever the last bucket takes.
constexpr int64_t kStackBuckets = 0;

// Returns the number of buckets for `bytes` of gradients or parameters. Buckets grow with the
// group, as Megatron-Core's do (40 M elements of 4 bytes, or 1 M per rank); 0 if there is nothing
// to send.
// Example: 320 MB between 8 ranks are 2 buckets.
int64_t bucketsOf(double bytes, const RankGroup &group);

// Returns the seconds of all buckets, one after another.
double bucketedSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                       const Topology &topology);

} // namespace dtc
