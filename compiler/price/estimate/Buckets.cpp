// Buckets in which gradients and parameters travel between replicas.
#include "compiler/price/estimate/Buckets.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/estimate/AxisGroups.h"

#include <algorithm>
#include <cmath>

namespace dtc {

int64_t bucketsOf(double bytes, const RankGroup &group) {
  double ranks = ranksOf(group);
  if (bytes <= 0 || ranks <= 1)
    return 0;
  return std::max<int64_t>(1, std::llround(std::ceil(bytes / std::max(160e6, 4e6 * ranks))));
}

double bucketedSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                       const Topology &topology) {
  double buckets = static_cast<double>(bucketsOf(bytes, group));
  return buckets > 0 ? buckets * collectiveSeconds(kind, bytes / buckets, group, topology) : 0;
}

} // namespace dtc
