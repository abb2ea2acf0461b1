// Gradients and parameters between replicas, once a step, in buckets.
#include "compiler/price/estimate/GradientCollectives.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/MeshGroups.h"
#include "compiler/price/estimate/Buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {

Decisions withBuckets(const Decisions &decisions, int64_t bucketBytes) {
  Decisions d = decisions;
  d.overlapGradients = bucketBytes != kOneBucket;
  d.bucketBytes = d.overlapGradients ? bucketBytes : 0;
  return d;
}

llvm::ArrayRef<int64_t> bucketSizes() {
  constexpr int64_t mebibyte = 1 << 20;
  static constexpr int64_t sizes[] = {
      4 * mebibyte,   8 * mebibyte,   16 * mebibyte,  32 * mebibyte,   64 * mebibyte,
      128 * mebibyte, 256 * mebibyte, 512 * mebibyte, 1024 * mebibyte, kOneBucket};
  return sizes;
}

ShardGroups::ShardGroups(const AxisGroups &groups, const Decisions &d)
    : denseShards(groups.dense),
      expertShards(groups.expert), denseCopies{{1, 1}}, expertCopies{{1, 1}} {
  if (d.zero == 0 || d.zeroRanks() == d.dp)
    return;
  int64_t copies = d.dp / d.zeroRanks(), dense = d.zeroRanks() * d.cp,
          expert = d.zeroRanksOfExpert();
  denseShards = partOfGroup(groups.dense, dense, 1);
  denseCopies = partOfGroup(groups.dense, copies, dense);
  expertShards = partOfGroup(groups.expert, expert, 1);
  expertCopies = partOfGroup(groups.expert, copies, expert);
}

GradientCollectives gradientCollectivesOf(int64_t bucketBytes, double dense, double expert,
                                          int64_t zero, const ShardGroups &groups,
                                          const Topology &topology,
                                          const CellPrecision &precision) {
  GradientCollectives collectives;
  auto add = [&](BucketSeconds &buckets, CollectiveKind kind, double bytes,
                 const RankGroup &group) {
    auto ofStack = static_cast<double>(bucketsOf(bytes, group));
    if (ofStack == 0)
      return;
    bool isStacks = bucketBytes == kStackBuckets;
    double count =
        isStacks ? ofStack : std::max(1.0, std::ceil(bytes / static_cast<double>(bucketBytes)));
    double each = collectiveSeconds(kind, bytes / count, group, topology);
    buckets.all += count * each;
    buckets.last += isStacks ? 0 : each;
    buckets.count =
        std::max(buckets.count, isStacks ? std::numeric_limits<double>::infinity() : count);
  };
  auto addParts = [&](BucketSeconds &buckets, CollectiveKind kind, double bytesEach) {
    add(buckets, kind, dense * bytesEach, groups.denseShards);
    add(buckets, kind, expert * bytesEach, groups.expertShards);
  };
  if (zero == 0)
    addParts(collectives.reduce, CollectiveKind::AllReduce, precision.reduceBytes);
  if (zero == 1)
    addParts(collectives.reduce, CollectiveKind::ReduceScatter, precision.reduceBytes);
  double denseParts = ranksOf(groups.denseShards), expertParts = ranksOf(groups.expertShards);
  add(collectives.reduce, CollectiveKind::AllReduce, dense * precision.reduceBytes / denseParts,
      groups.denseCopies);
  add(collectives.reduce, CollectiveKind::AllReduce, expert * precision.reduceBytes / expertParts,
      groups.expertCopies);
  if (zero == 1 || zero == 2)
    addParts(collectives.gather, CollectiveKind::AllGather, precision.parameterBytes);
  return collectives;
}

double exposedSeconds(const BucketSeconds &buckets, double window) {
  if (buckets.count <= 1)
    return buckets.all;
  return std::max(buckets.last, buckets.all - window * (1 - 1 / buckets.count));
}

} // namespace dtc
