// Gradients and parameters between replicas, once a step, in buckets of a size that is chosen.
// Internal to this folder.
#pragma once

#include "compiler/estimate/Buckets.h"
#include "compiler/estimate/CellCost.h"
#include "compiler/plan/Decisions.h"

namespace dtc {

// One bucket, which is complete when the backward pass is: nothing overlaps.
constexpr int64_t kOneBucket = int64_t(1) << 50;

// The sizes that the planner chooses from, bytes on the wire: powers of two from 4 MiB to 1 GiB,
// then kOneBucket. Small buckets pay the latency of many collectives; of large ones the last, which
// nothing can hide, is long.
llvm::ArrayRef<int64_t> bucketSizes();

// Seconds of all buckets, of the last one, and how many there are; of kStackBuckets 0 and infinity:
// they are hidden like a stream.
struct BucketSeconds {
  double all = 0, last = 0, count = 0;
};

// The ranks over which ZeRO shards parameters, and the ranks that hold copies of one shard.
struct ShardGroups {
  RankGroup denseShards, expertShards, denseCopies, expertCopies;

  ShardGroups(const AxisGroups &groups, const Decisions &decisions);
};

// Returns the number of ranks of a group.
double ranksOf(const RankGroup &group);

// Seconds of one stage's gradient and parameter collectives per step. Gradients that micro-batches
// reduce-scatter are only all-reduced between copies here.
struct GradientExchange {
  BucketSeconds reduce, gather;
};
// Returns the collectives of a stage with `dense` and `expert` parameters, in buckets of
// `bucketBytes`.
GradientExchange exchangeIn(int64_t bucketBytes, double dense, double expert, int64_t zero,
                            const ShardGroups &groups, const Topology &topology,
                            const CellPrecision &precision);

// Seconds that nothing hides of buckets that become ready one by one while `window` seconds pass,
// the last one at their end.
// Example: 4 buckets of 1 s in a window of 2 s: 4 - 2 x 3/4 = 2.5; of 8 s: the last, 1.
double exposedSeconds(const BucketSeconds &buckets, double window);

} // namespace dtc
