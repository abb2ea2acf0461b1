// What estimates of many decisions have in common.
#include "compiler/estimate/SharedEstimates.h"

namespace dtc {

SharedEstimates::Parts &SharedEstimates::of(const Decisions &d) {
  Decisions key;
  key.dp = d.dp;
  key.tp = d.tp;
  key.pp = d.pp;
  key.cp = d.cp;
  key.contextKind = d.contextKind;
  key.contextInner = d.contextInner;
  key.ep = d.ep;
  key.foldedExperts = d.foldedExperts;
  key.order = d.order;
  key.partOrder = d.partOrder;
  key.tensorOfParts = d.tensorOfParts;
  key.sequenceParallel = d.sequenceParallel;
  key.placement = d.placement;
  key.microBatch = d.microBatch;
  key.zeroGroup = d.zeroGroup;
  key.vocabOverPp = d.vocabOverPp > 0 ? 1 : 0; // a cut leaves its share out
  if (!last || last->first != key)
    last = &*known.try_emplace(key).first;
  return last->second;
}

} // namespace dtc
