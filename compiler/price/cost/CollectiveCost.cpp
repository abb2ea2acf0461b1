#include "compiler/price/cost/CollectiveCost.h"

#include "compiler/price/cost/HomogeneousCost.h"
#include "compiler/price/cost/MixedCost.h"

namespace dtc {

double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology, int64_t rank) {
  if (topology.isUniform())
    return homogeneousChoice(kind, bytes, group, topology).seconds;
  return secondsOfGroup(kind, bytes, group, topology, rank);
}

double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology) {
  if (topology.isHomogeneous())
    return homogeneousChoice(kind, bytes, group, topology).seconds;
  return secondsOfSlowestGroup(kind, bytes, group, topology);
}

CollectiveChoice explainCollective(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology) {
  if (topology.isHomogeneous())
    return homogeneousChoice(kind, bytes, group, topology);
  double seconds = collectiveSeconds(kind, bytes, group, topology);
  return {seconds, seconds > 0 ? "ring over parts" : "", ""};
}

} // namespace dtc
