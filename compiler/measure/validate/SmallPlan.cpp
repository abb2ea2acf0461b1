// The kinds of parallelism of a plan, on as many processes as one machine runs.
#include "compiler/measure/validate/SmallPlan.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Pins.h"
#include "compiler/decide/decisions/ReadPins.h"

#include <algorithm>

namespace dtc {

Result<SmallPlan> shrinkPlan(const Plan &plan, int64_t ranks) {
  const Decisions &whole = plan.decisions;
  SmallPlan small{whole, 1};
  Decisions &d = small.decisions;
  const std::pair<int64_t Decisions::*, const char *> axes[] = {{&Decisions::tp, "tp"},
                                                                {&Decisions::dp, "dp"},
                                                                {&Decisions::pp, "pp"},
                                                                {&Decisions::cp, "cp"}};
  std::string kinds;
  for (auto [axis, name] : axes) {
    if (whole.*axis > 1)
      kinds += (kinds.empty() ? "" : " ") + std::string(name);
    d.*axis = std::min<int64_t>(whole.*axis, 2);
  }
  d.ep = std::min(d.ep, d.ranksOfExperts());
  if (d.devices() > ranks)
    return UserError("--ranks " + std::to_string(ranks) + " can't show a plan with " + kinds +
                         ", each over two ranks at least",
                     "use --ranks " + std::to_string(d.devices()));
  if (whole.zeroGroup > 0 && d.dp == 2 && d.devices() * 2 <= ranks) // two groups of two
    d.dp = 4;
  for (auto [axis, name] : axes)
    while (d.*axis > 1 && d.*axis * 2 <= whole.*axis && d.devices() * 2 <= ranks)
      d.*axis *= 2;
  d.zeroGroup = whole.zeroGroup > 0 && d.dp % 4 == 0 ? 2 : 0;
  d.microBatch = std::min<int64_t>(whole.microBatch, 2);
  d.numMicroBatches = std::min(whole.numMicroBatches, std::max<int64_t>(2, 2 * d.pp));
  d.recompute = d.recomputeMost = std::max(whole.recompute, whole.recomputeMost);
  small.globalBatch = d.dp * d.microBatch * d.numMicroBatches;
  return small;
}

std::map<std::string, std::string> SmallPlan::pins() const {
  Decisions d = decisions;
  d.zero = d.dp > 1 ? d.zero : 0;
  d.sequenceParallel &= d.tp > 1;
  std::map<std::string, std::string> pins = pinsOf(d);
  // These are left to the search.
  for (const char *key : {"placement", "offload_activations", "overlap", "bucket_mib", "cp_kind",
                          "cp_inner", "tp_of_parts"})
    pins.erase(key);
  for (const char *key : {"zero_group", "axis_order"})
    if (findDecision(key)->isUsual(d))
      pins.erase(key);
  return pins;
}

} // namespace dtc
