// The limits of the search space, and the decisions within them.
#include "compiler/search/planner/SpaceLimits.h"

#include "compiler/decide/plan/Executable.h"
#include "compiler/price/estimate/StageSplit.h"
#include "compiler/search/planner/LegalPlans.h"

#include <algorithm>

namespace dtc {

bool isAllowed(const Decisions &d, const SpaceLimits &limits) {
  return (!limits.executable || isExecutable(d)) &&
         (!limits.space || isLegal(d, *limits.space, limits.layers));
}

int64_t mostChunks(const SpaceLimits &limits) {
  bool isEven = limits.space && !limits.space->unevenStages;
  return isEven ? std::max<int64_t>(1, limits.layers) : mostChunksOf(limits.layers);
}

} // namespace dtc
