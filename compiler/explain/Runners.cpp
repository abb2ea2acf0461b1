// The candidates beside the chosen plan, and how they differ from it.
#include "compiler/explain/Runners.h"

#include "compiler/explain/Figures.h"
#include "compiler/plan/DecisionNames.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace dtc {
namespace {

// Differences that are noise of adding up, and those between orders of axes that are not worth a
// row, as shares of the step.
constexpr double kNoise = 1e-9, kSmall = 1e-3;

bool differInOrderOnly(const Plan &a, const Plan &b) {
  for (const DecisionName &name : decisionNames())
    if (name.listing != Listing::Never && name.key != "axis_order" &&
        name.phraseOf(a.decisions) != name.phraseOf(b.decisions))
      return false;
  double step = a.predicted.stepSeconds;
  return a.predicted.peakMemoryBytes == b.predicted.peakMemoryBytes &&
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
  for (const DecisionName &name : decisionNames()) {
    std::string phrase = name.phraseOf(other.decisions);
    bool isSaid = name.listing != Listing::Never && !phrase.empty();
    if (isSaid && phrase != name.phraseOf(plan.decisions))
      list += (list.empty() ? "" : ", ") + phrase;
  }
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
