// Caches results that estimates of many decisions have in common.
#include "compiler/price/estimate/SharedEstimates.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"

namespace dtc {

SharedEstimates::Parts &SharedEstimates::of(const Decisions &d) {
  Decisions key = keyOf(KeptResult::Estimates, d);
  if (!last || last->first != key)
    last = &*known.try_emplace(key).first;
  return last->second;
}

} // namespace dtc
