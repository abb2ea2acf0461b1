// The candidates beside the chosen plan, and how they differ from it.
#include "compiler/explain/Runners.h"

#include "compiler/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace dtc {
namespace {

// Differences that are noise of adding up, and those between orders of axes that are not worth a
// row, as shares of the step.
constexpr double kNoise = 1e-9, kSmall = 1e-3;

bool differInOrderOnly(const Plan &a, const Plan &b) {
  auto rest = [](const Plan &p) {
    return std::tuple(p.dp, p.tp, p.pp, p.cp, p.ep, p.sequenceParallel, p.zero, p.microBatch,
                      p.schedule, p.virtualStages, p.recompute, p.offloadOptimizer, p.placement);
  };
  double step = a.predicted.stepSeconds;
  return rest(a) == rest(b) && a.predicted.peakMemoryBytes == b.predicted.peakMemoryBytes &&
         std::abs(step - b.predicted.stepSeconds) <= kSmall * step;
}

} // namespace

std::vector<const Plan *> runnersUp(const PlanOutcome &outcome, size_t most) {
  std::vector<const Plan *> shown{&outcome.best};
  for (const Plan &other : outcome.others) {
    if (shown.size() > most)
      break;
    if (llvm::none_of(shown, [&](const Plan *plan) { return differInOrderOnly(*plan, other); }))
      shown.push_back(&other);
  }
  shown.erase(shown.begin());
  return shown;
}

std::vector<const Plan *> leanerPlans(const PlanOutcome &outcome, double slower, size_t most) {
  std::vector<const Plan *> leaner;
  double limit = (1 + slower) * outcome.best.predicted.stepSeconds;
  int64_t least = outcome.best.predicted.peakMemoryBytes;
  for (const Plan &other : outcome.others) {
    if (other.predicted.stepSeconds > limit || leaner.size() == most)
      break;
    if (other.predicted.peakMemoryBytes >= least)
      continue;
    least = other.predicted.peakMemoryBytes;
    leaner.push_back(&other);
  }
  return leaner;
}

std::string settingsThatDiffer(const Plan &plan, const Plan &other) {
  std::string list;
  auto add = [&](bool differs, const std::string &text) {
    if (differs)
      list += (list.empty() ? "" : ", ") + text;
  };
  auto pair = [&](const char *key, int64_t mine, int64_t its) {
    add(mine != its, std::string(key) + "=" + std::to_string(its));
  };
  pair("dp", plan.dp, other.dp);
  pair("tp", plan.tp, other.tp);
  pair("pp", plan.pp, other.pp);
  pair("cp", plan.cp, other.cp);
  pair("ep", plan.ep, other.ep);
  pair("sp", plan.sequenceParallel, other.sequenceParallel);
  pair("zero", plan.zero, other.zero);
  pair("micro_batch", plan.microBatch, other.microBatch);
  bool sameSchedule = plan.schedule == other.schedule && plan.virtualStages == other.virtualStages;
  add(other.pp > 1 && (!sameSchedule || plan.pp == 1),
      other.schedule +
          (other.virtualStages > 1 ? " x" + std::to_string(other.virtualStages) : std::string()));
  add(plan.recompute != other.recompute, "recompute " + other.recompute);
  add(plan.offloadOptimizer != other.offloadOptimizer,
      other.offloadOptimizer ? "optimizer on the host" : "optimizer on the device");
  add(plan.placement != other.placement, "placement " + other.placement);
  add(plan.axisOrder != other.axisOrder, "order " + other.axisOrder);
  return list.empty() ? "the same but for where layers are cut or recomputed" : list;
}

std::string losesOn(const Plan &plan, const Plan &other) {
  if (!other.predicted.fits)
    return "does not fit";
  double all = other.predicted.stepSeconds - plan.predicted.stepSeconds;
  if (all <= kNoise * plan.predicted.stepSeconds)
    return "a tie";
  std::vector<std::pair<double, const char *>> parts;
  for (const figures::TimePart &part : figures::timeParts())
    parts.push_back(
        {other.predicted.times.*part.seconds - plan.predicted.times.*part.seconds, part.name});
  llvm::sort(parts, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string list;
  for (auto [extra, name] : llvm::ArrayRef(parts).take_front(2))
    if (extra >= 0.2 * parts.front().first && extra > 0)
      list += (list.empty() ? "" : ", ") + std::string(name) + " " + figures::signedSeconds(extra);
  return list.empty() ? "a tie" : list;
}

} // namespace dtc
