#include "compiler/price/cost/HomogeneousCost.h"

#include "compiler/price/cost/CalibratedCost.h"
#include "compiler/price/cost/CollectiveModel.h"

namespace dtc {

CollectiveChoice homogeneousChoice(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology) {
  CollectiveChoice choice = modelChoice(kind, bytes, group, topology);
  if (bytes > 0 && topology.device.calibration)
    choice.seconds = calibratedCollective(kind, bytes, group, topology, choice.seconds);
  return choice;
}

} // namespace dtc
