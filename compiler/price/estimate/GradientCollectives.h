// Gradients and parameters between replicas, once a step, in buckets of a size that is chosen.
// Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/estimate/Buckets.h"
#include "compiler/price/estimate/CellCost.h"

namespace dtc {

// A bucket size above all others: one bucket, complete when the backward pass is, so that nothing
// overlaps.
constexpr int64_t kOneBucket = int64_t(1) << 50;

// Returns the decisions with gradients in buckets of the size that an estimate chose; kOneBucket
// means no overlap.
Decisions withBuckets(const Decisions &decisions, int64_t bucketBytes);

// Returns the sizes that the planner chooses from, bytes on the wire: powers of two from 4 MiB to 1
// GiB, then kOneBucket. Small buckets pay the latency of many collectives; large ones leave a long
// last bucket exposed.
llvm::ArrayRef<int64_t> bucketSizes();

// The seconds of all buckets and of the last one, and their number. With kStackBuckets `last` is 0
// and `count` infinite: they are hidden like a stream.
struct BucketSeconds {
  double all = 0, last = 0, count = 0;
};

// The ranks over which ZeRO shards parameters, and those that hold copies of the same shard.
struct ShardGroups {
  RankGroup denseShards, expertShards, denseCopies, expertCopies;

  ShardGroups(const AxisGroups &groups, const Decisions &decisions);
};

// The collectives of a stage's gradients and parameters, once a step.
struct GradientCollectives {
  BucketSeconds reduce, gather;
};
// Returns the collectives of a stage with so many dense and expert parameters, in elements.
// Gradients that every micro-batch scatters (ZeRO-2 and 3) are only summed between copies.
GradientCollectives gradientCollectivesOf(int64_t bucketBytes, double dense, double expert,
                                          int64_t zero, const ShardGroups &groups,
                                          const Topology &topology, const CellPrecision &precision);

// Returns the exposed seconds of buckets that become ready one by one while `window` seconds pass,
// the last one at their end.
// Example: 4 buckets of 1 s in a window of 2 s: 4 - 2 x 3/4 = 2.5; of 8 s: the last, 1.
double exposedSeconds(const BucketSeconds &buckets, double window);

} // namespace dtc
