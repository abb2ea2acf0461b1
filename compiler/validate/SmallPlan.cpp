// The kinds of parallelism of a plan, on as many processes as one machine runs.
#include "compiler/validate/SmallPlan.h"

#include "compiler/plan/DecisionNames.h"

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
  const Decisions &d = decisions;
  auto number = [](int64_t value) { return std::to_string(value); };
  std::map<std::string, std::string> pins = {{"dp", number(d.dp)},
                                             {"tp", number(d.tp)},
                                             {"pp", number(d.pp)},
                                             {"cp", number(d.cp)},
                                             {"ep", number(d.ep)},
                                             {"zero", number(d.dp > 1 ? d.zero : 0)},
                                             {"sp", d.tp > 1 && d.sequenceParallel ? "1" : "0"},
                                             {"micro_batch", number(d.microBatch)},
                                             {"recompute", toString(d.recompute).str()},
                                             {"offload", d.offloadOptimizer ? "1" : "0"}};
  if (d.foldedExperts)
    pins["etp"] = "1";
  if (d.vocabOverPp > 0)
    pins["vocab_over_pp"] = number(d.vocabOverPp);
  if (d.zeroGroup > 0)
    pins["zero_group"] = number(d.zeroGroup);
  if (d.pp > 1) {
    pins["schedule"] = toString(d.schedule).str();
    pins["virtual_stages"] = number(d.virtualStages);
  }
  if (d.order != kMegatronOrder) {
    std::string order = orderText(d.order);
    std::replace(order.begin(), order.end(), ' ', '-');
    pins["axis_order"] = order;
  }
  return pins;
}

} // namespace dtc
