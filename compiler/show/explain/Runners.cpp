// The candidates beside the chosen plan, and how they differ from it.
#include "compiler/show/explain/Runners.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Words.h"
#include "compiler/search/planner/Simplicity.h"
#include "compiler/show/explain/Figures.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <numeric>

namespace dtc {
namespace {

// Differences that are noise of adding up, and those between orders of axes that are not worth a
// row, as shares of the step.
constexpr double kNoise = 1e-9, kSmall = 1e-3;
// Less memory than that share of the plan's is no reason to look at another plan.
constexpr double kLeastSaving = 0.01;

// Joined by ", ".
void add(std::string &list, const std::string &phrase) {
  list += (list.empty() ? "" : ", ") + phrase;
}

std::string settingsThatDiffer(const Plan &plan, const Plan &other) {
  std::string list;
  for (const Decision *each : decisions()) {
    std::string phrase = each->phraseOf(other.decisions);
    bool isSaid = each->listing != Listing::Never && !phrase.empty();
    if (isSaid && phrase != each->phraseOf(plan.decisions))
      add(list, phrase);
  }
  return list;
}

std::string layersThat(const Plan &plan, llvm::StringRef recompute) {
  std::vector<int64_t> counts;
  for (const PlanStage &stage : plan.stages)
    counts.push_back(llvm::count(stage.recompute, recompute));
  return recompute.str() + " in " + figures::sumText(counts) + " layers";
}

std::string recomputeRange(const Plan &plan) {
  const Decisions &d = plan.decisions;
  return "layers recompute " + toString(d.recompute).str() + " to " +
         toString(d.recomputeMost).str();
}
std::string fullLayers(const Plan &plan) { return layersThat(plan, "full"); }
std::string selectiveLayers(const Plan &plan) { return layersThat(plan, "selective"); }
// Lists the layers by their partial recomputation.
std::string partialLayers(const Plan &plan) {
  std::string list;
  for (Recompute recompute : llvm::reverse(kRecomputes))
    if (isPartial(recompute) && llvm::any_of(plan.stages, [&](const PlanStage &stage) {
          return llvm::is_contained(stage.recompute, toString(recompute));
        }))
      add(list, layersThat(plan, toString(recompute)));
  return list.empty() ? "no layer recomputes groups of ops" : list;
}
std::string hostLayers(const Plan &plan) {
  std::vector<int64_t> counts;
  for (const PlanStage &stage : plan.stages)
    counts.push_back(stage.offloadedLayers);
  return figures::sumText(counts) + " layers on the host";
}
std::string cutOf(const Plan &plan) {
  std::vector<int64_t> layers;
  for (const PlanStage &stage : plan.stages)
    for (auto [first, last] : stage.chunks)
      layers.push_back(last - first + 1);
  return "chunks of " + figures::sumText(layers) + " layers";
}
std::string gradientsOf(const Plan &plan) {
  const Decisions &d = plan.decisions;
  if (!d.overlapGradients)
    return "gradients after the backward pass";
  return d.bucketBytes > 0 ? "gradients in buckets of " + figures::bytes(d.bucketBytes)
                           : "gradients beside the backward pass";
}
std::string searchedPlacement(const Plan &plan) {
  return "placements " + std::to_string(plan.decisions.placement) + " of those searched";
}
std::string firstRanks(const Plan &plan) {
  std::string list;
  for (const PlanStage &stage : plan.stages)
    list += (list.empty() ? "" : ", ") +
            (stage.ranks.empty() ? std::string("?") : std::to_string(stage.ranks.front()));
  return "stages from ranks " + list;
}

// Details that distinguish plans with equal settings. No detail is ever empty.
using Detail = std::string (*)(const Plan &);
constexpr Detail kDetails[] = {recomputeRange, fullLayers,        selectiveLayers,
                               partialLayers,  hostLayers,        cutOf,
                               gradientsOf,    searchedPlacement, firstRanks};

std::string textOf(const Plan &plan, unsigned details) {
  std::string list;
  for (auto [index, detail] : llvm::enumerate(kDetails))
    if (details >> index & 1)
      add(list, detail(plan));
  return list;
}

constexpr unsigned kAllDetails = (1u << std::size(kDetails)) - 1;

// The fewest details of `plan` that none of `others` has.
std::string detailsBeside(const Plan &plan, llvm::ArrayRef<const Plan *> others) {
  std::vector<unsigned> sets(kAllDetails);
  std::iota(sets.begin(), sets.end(), 1u);
  llvm::sort(sets, [](unsigned a, unsigned b) {
    return std::pair(llvm::popcount(a), a) < std::pair(llvm::popcount(b), b);
  });
  for (unsigned details : sets) {
    std::string text = textOf(plan, details);
    if (llvm::none_of(others, [&](const Plan *other) { return textOf(*other, details) == text; }))
      return text;
  }
  return textOf(plan, kAllDetails);
}

bool saySame(const Plan &a, const Plan &b) {
  return settingsThatDiffer(a, b).empty() && settingsThatDiffer(b, a).empty() &&
         textOf(a, kAllDetails) == textOf(b, kAllDetails);
}

bool differInOrderOnly(const Plan &a, const Plan &b) {
  for (const Decision *each : decisions())
    if (each->listing != Listing::Never && each->key != "axis_order" &&
        each->phraseOf(a.decisions) != each->phraseOf(b.decisions))
      return false;
  double step = a.predicted.stepSeconds;
  return a.predicted.peakMemoryBytes == b.predicted.peakMemoryBytes &&
         std::abs(step - b.predicted.stepSeconds) <= kSmall * step;
}

} // namespace

std::vector<const Plan *> runnersUp(const PlanResult &planResult, size_t most) {
  std::vector<const Plan *> shown{&planResult.best};
  for (const Plan &other : planResult.others) {
    if (shown.size() > most)
      break;
    if (llvm::none_of(shown, [&](const Plan *plan) {
          return differInOrderOnly(*plan, other) || saySame(*plan, other);
        }))
      shown.push_back(&other);
  }
  shown.erase(shown.begin());
  return shown;
}

std::vector<const Plan *> plansWithLessMemory(const PlanResult &planResult, double slower,
                                              size_t most) {
  std::vector<const Plan *> leaner;
  double limit = (1 + slower) * planResult.best.predicted.stepSeconds;
  int64_t least = planResult.best.predicted.peakMemoryBytes;
  double saving = std::max(1.0, kLeastSaving * static_cast<double>(least));
  for (const Plan &other : planResult.others) {
    if (other.predicted.stepSeconds > limit || leaner.size() == most)
      break;
    bool isLess =
        static_cast<double>(other.predicted.peakMemoryBytes) <= static_cast<double>(least) - saving;
    if (!isLess || saySame(planResult.best, other) ||
        llvm::any_of(leaner, [&](const Plan *plan) { return saySame(*plan, other); }))
      continue;
    least = other.predicted.peakMemoryBytes;
    leaner.push_back(&other);
  }
  return leaner;
}

std::vector<std::string> labelsOf(const Plan &plan, llvm::ArrayRef<const Plan *> others) {
  std::vector<std::string> labels;
  for (const Plan *other : others)
    labels.push_back(settingsThatDiffer(plan, *other));
  const std::vector<std::string> settings = labels;
  for (auto [index, label] : llvm::enumerate(labels)) {
    std::vector<const Plan *> similar; // in settings
    if (label.empty())
      similar.push_back(&plan);
    for (auto [at, text] : llvm::enumerate(settings))
      if (at != index && text == settings[index])
        similar.push_back(others[at]);
    if (!similar.empty())
      add(label, detailsBeside(*others[index], similar));
  }
  return labels;
}

std::string losesOn(const Plan &plan, const Plan &other) {
  if (!other.predicted.fits)
    return "does not fit";
  double all = other.predicted.stepSeconds - plan.predicted.stepSeconds;
  std::string beyond = mechanismsBeyond(plan.decisions, other.decisions);
  if (all < -kSmall * plan.predicted.stepSeconds && !beyond.empty())
    return "faster, with " + beyond;
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

std::string whyNot(const Plan &plan, const Plan &other) {
  constexpr double notable = 0.005;
  std::string why = losesOn(plan, other);
  double probability = other.predicted.fitProbability;
  if (probability > 0 && probability < plan.predicted.fitProbability - notable)
    add(why, "fits with " + figures::percent(probability, 1));
  return why;
}

} // namespace dtc
