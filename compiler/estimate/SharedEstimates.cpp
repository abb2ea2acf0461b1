// Caches partial results that the estimates of many decisions share.
#include "compiler/estimate/SharedEstimates.h"

#include "compiler/estimate/ModelCost.h"

namespace dtc {

SharedEstimates::Parts &SharedEstimates::of(const Decisions &d) {
  Decisions key = meshOf(d);
  key.partOrder = d.partOrder;
  key.tensorOfParts = d.tensorOfParts;
  key.sequenceParallel = d.sequenceParallel;
  key.placement = d.placement;
  key.zeroGroup = d.zeroGroup;
  key.vocabOverPp = d.vocabOverPp > 0 ? 1 : 0; // a cut leaves its share out
  if (!last || last->first != key)
    last = &*known.try_emplace(key).first;
  return last->second;
}

} // namespace dtc
