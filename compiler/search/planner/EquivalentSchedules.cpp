// Bounds pipeline schedules by equivalent ones.
#include "compiler/search/planner/EquivalentSchedules.h"

#include "compiler/search/pipeline/LowerBound.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {
namespace {

// The kinds whose bounds follow from others.
constexpr ScheduleKind kNamed[] = {ScheduleKind::ZeroBubble2P, ScheduleKind::VHalf,
                                   ScheduleKind::VMin};

llvm::ArrayRef<ScheduleKind> boundedBy(ScheduleKind kind) {
  llvm::ArrayRef<ScheduleKind> named(kNamed);
  switch (kind) {
  case ScheduleKind::ZeroBubbleH1:
    return named.take_front(1);
  case ScheduleKind::ZeroBubbleV:
    return named.drop_front(1);
  case ScheduleKind::VHalf:
    return named.take_back(1);
  default:
    return {};
  }
}

// Returns true for steps whose bounds are kept: with other chunks of the loss, or with stages that
// share the vocabulary, memory cuts stages in other ways.
bool isCompared(const Decisions &d) { return d.lossChunks == 1 && !d.dividesVocabulary(); }

// Returns true if every layer recomputes and offloads the least that the decisions allow.
bool keepsMost(const Decisions &d, const StepEstimate &step) {
  return llvm::all_of(step.stages, [&](const StageEstimate &stage) {
    bool isOnDevice = !d.offloadsSomeLayers() || stage.offloadedLayers == 0;
    return isOnDevice && llvm::all_of(kRecomputes, [&](Recompute each) {
             return each == d.recompute || stage.layersThat(each) == 0;
           });
  });
}

// Returns true if layers that recompute nothing and fit under H1 in this cut also fit under ZB-2p,
// which keeps 2 p - 1 micro-batches of a stage at most. Micro-batches between B and W hold more on
// the first stage alone: the embedding's activations, which are included in a micro-batch's saved
// activations.
bool fitsAsZb2p(const Decisions &d, const StepEstimate &step) {
  double most = 2 * static_cast<double>(d.pp) - 1;
  for (auto [index, stage] : llvm::enumerate(step.stages)) {
    double times = (index == 0 ? 2 : 1) * most / std::max(1.0, stage.inFlight);
    if (stage.memory.total() + std::max(0.0, times - 1) * stage.memory.activations >
        stage.memoryLimit)
      return false;
  }
  return d.recompute == Recompute::None && !step.isCutByMemory;
}

// Returns the bound under another schedule with the same stages, in the better of the step's cuts.
double leastAs(ScheduleKind kind, Decisions d, const StepEstimate &step) {
  d.schedule = kind;
  double own = step.stepSeconds - step.loopSeconds + makespanLowerBound(pipelineOf(step, d));
  return step.otherCut ? std::min(own, leastAs(kind, d, *step.otherCut)) : own;
}

// Returns the bound of the slowest stage in any cut.
double leastOfSlowest(const Decisions &d, const StepEstimate &step) {
  // Sums in another order differ in their last bits.
  return static_cast<double>(d.numMicroBatches) * step.leastSlowestSeconds * (1 - 1e-9);
}

} // namespace

size_t EquivalentSchedules::indexOf(ScheduleKind kind, const Decisions &d) {
  auto index = static_cast<size_t>(llvm::find(kNamed, kind) - std::begin(kNamed));
  index = index * 4 + static_cast<size_t>(d.zero);
  index = index * kNumRecomputes + static_cast<size_t>(d.recompute);
  index = index * kNumRecomputes + static_cast<size_t>(d.recomputeMost);
  index = index * 3 + (d.offloadsAllLayers() ? 2 : d.offloadsSomeLayers() ? 1 : 0);
  return index * 2 + (d.offloadOptimizer ? 1 : 0);
}

void EquivalentSchedules::raise(ScheduleKind kind, const Decisions &decisions, double seconds) {
  double &bound = least[indexOf(kind, decisions)];
  bound = std::max(bound, seconds);
}

// A V schedule that stores less never needs recomputation that the other one does not, and may save
// some; if the other fits without it, both have the same cut. ZB-2p stores more than H1, so memory
// may cut it differently.
void EquivalentSchedules::note(const Decisions &decisions, const StepEstimate &step) {
  if (!isCompared(decisions))
    return;
  bool isV = dtc::isV(decisions.schedule);
  auto isFree = [&](const StepEstimate &cut) {
    return keepsMost(decisions, cut) && !cut.isCutByMemory;
  };
  bool isSame =
      isV ? isFree(step) && (!step.otherCut || isFree(*step.otherCut))
          : !decisions.mayKeepLess() && (decisions.evenStages || fitsAsZb2p(decisions, step));
  for (ScheduleKind kind : boundedBy(decisions.schedule))
    raise(kind, decisions,
          isSame ? leastAs(kind, decisions, step) : leastOfSlowest(decisions, step));
}

void EquivalentSchedules::noteBound(const Decisions &decisions, double seconds) {
  if (!isCompared(decisions))
    return;
  for (ScheduleKind kind : boundedBy(decisions.schedule))
    raise(kind, decisions, seconds);
}

double EquivalentSchedules::leastOf(const Decisions &decisions) const {
  if (!isCompared(decisions) || !llvm::is_contained(kNamed, decisions.schedule))
    return 0;
  return least[indexOf(decisions.schedule, decisions)];
}

} // namespace dtc
