// Says which of two plans is simpler.
#include "compiler/planner/Simplicity.h"

#include <numeric>

namespace dtc {
namespace {

constexpr double kMostTie = 0.01, kShareOfNoise = 0.5;

int recomputationOf(const Decisions &d) {
  if (d.recompute == Recompute::None && !d.mayRecomputeMore())
    return 0;
  bool isUsual = d.recompute == Recompute::Selective || d.recompute == Recompute::Full;
  return isUsual && !d.mayRecomputeMore() ? 2 : 3;
}

int virtualStagesOf(const Decisions &d) {
  constexpr int64_t few = 4;
  return d.virtualStages > few ? 3 : d.virtualStages > 1 ? 2 : 0;
}

constexpr Mechanism kMechanisms[] = {
    {"tensor parallelism", [](const Decisions &d) { return d.tp > 1 ? 4 : 0; }},
    {"pipeline parallelism", [](const Decisions &d) { return d.pp > 1 ? 4 : 0; }},
    {"expert parallelism", [](const Decisions &d) { return d.ep > 1 ? 4 : 0; }},
    {"context parallelism", [](const Decisions &d) { return d.cp > 1 ? 5 : 0; }},
    {"a higher kind of ZeRO",
     [](const Decisions &d) { return d.zero > 1 ? static_cast<int>(d.zero) : 0; }},
    {"ZeRO within groups", [](const Decisions &d) { return d.zeroGroup > 0 ? 2 : 0; }},
    {"experts folded over tp", [](const Decisions &d) { return d.foldedExperts ? 1 : 0; }},
    {"tp by part", [](const Decisions &d) { return d.hasUnevenTensor() ? 2 : 0; }},
    {"virtual stages", virtualStagesOf},
    {"split backward passes",
     [](const Decisions &d) { return d.pp > 1 && splitsBackward(d.schedule) ? 2 : 0; }},
    {"vocabulary over stages", [](const Decisions &d) { return d.vocabOverPp > 0 ? 3 : 0; }},
    {"recomputation", recomputationOf},
    {"optimizer on the host", [](const Decisions &d) { return d.offloadOptimizer ? 3 : 0; }},
    {"activations on the host",
     [](const Decisions &d) { return d.layersOnHost != LayersOnHost::None ? 3 : 0; }},
    {"searched placements", [](const Decisions &d) { return d.placement > 0 ? 1 : 0; }},
    {"another order of axes", [](const Decisions &d) { return d.order == kMegatronOrder ? 0 : 1; }},
};

} // namespace

llvm::ArrayRef<Mechanism> mechanisms() { return kMechanisms; }

int complexityOf(const Decisions &decisions) {
  return std::accumulate(
      std::begin(kMechanisms), std::end(kMechanisms), 0,
      [&](int sum, const Mechanism &each) { return sum + each.points(decisions); });
}

int leastComplexityOf(Decisions decisions) {
  decisions.recomputeMost = decisions.recompute;
  if (decisions.layersOnHost == LayersOnHost::Some)
    decisions.layersOnHost = LayersOnHost::None;
  return complexityOf(decisions);
}

std::string mechanismsBeyond(const Decisions &plan, const Decisions &other) {
  std::string list;
  for (const Mechanism &each : kMechanisms)
    if (each.points(other) > each.points(plan))
      list += (list.empty() ? "" : ", ") + each.name.str();
  return list;
}

Simplicity simplicityOf(const Plan &plan, double expectedSeconds) {
  return {complexityOf(plan.decisions), plan.predicted.peakMemoryBytes, expectedSeconds};
}

std::string reasonToPassOver(const Plan &fastest, const Plan &plan) {
  if (fastest.decisions == plan.decisions)
    return "";
  std::string mechanisms = mechanismsBeyond(plan.decisions, fastest.decisions);
  return mechanisms.empty() ? "more memory" : mechanisms;
}

double tieShare(double noise) { return std::min(kMostTie, kShareOfNoise * noise); }

} // namespace dtc
