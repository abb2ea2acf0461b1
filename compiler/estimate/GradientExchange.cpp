// Gradients and parameters between replicas, once a step, in buckets.
#include "compiler/estimate/GradientExchange.h"

#include "compiler/estimate/Buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtc {

llvm::ArrayRef<int64_t> bucketSizes() {
  constexpr int64_t mebibyte = 1 << 20;
  static constexpr int64_t sizes[] = {
      4 * mebibyte,   8 * mebibyte,   16 * mebibyte,  32 * mebibyte,   64 * mebibyte,
      128 * mebibyte, 256 * mebibyte, 512 * mebibyte, 1024 * mebibyte, kOneBucket};
  return sizes;
}

GradientExchange exchangeIn(int64_t bucketBytes, double dense, double expert, int64_t zero,
                            const AxisGroups &groups, const Topology &topology,
                            const CellPrecision &precision) {
  GradientExchange exchange;
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
  auto addBoth = [&](BucketSeconds &buckets, CollectiveKind kind, double bytesEach) {
    add(buckets, kind, dense * bytesEach, groups.dense);
    add(buckets, kind, expert * bytesEach, groups.expert);
  };
  if (zero == 0)
    addBoth(exchange.reduce, CollectiveKind::AllReduce, precision.reduceBytes);
  if (zero == 1)
    addBoth(exchange.reduce, CollectiveKind::ReduceScatter, precision.reduceBytes);
  if (zero == 1 || zero == 2)
    addBoth(exchange.gather, CollectiveKind::AllGather, precision.parameterBytes);
  return exchange;
}

double exposedSeconds(const BucketSeconds &buckets, double window) {
  if (buckets.count <= 1)
    return buckets.all;
  return std::max(buckets.last, buckets.all - window * (1 - 1 / buckets.count));
}

} // namespace dtc
