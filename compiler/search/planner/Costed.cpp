// Costs steps, with bounds of other steps.
#include "compiler/search/planner/Costed.h"

#include "compiler/price/estimate/StepBounds.h"

#include <algorithm>
#include <limits>

namespace dtc {

// Returns a SameCut without bounds if the step is no ZeRO-1, does not fit, or memory influenced its
// cut.
static SameCut sameCutOf(const ModelCost &model, const Decisions &d, const StepEstimate &step,
                         const EstimateRequest &request) {
  if (d.zero != 1 || !step.fits || step.isCutByMemory || step.otherCut || !model.kinds.empty() ||
      request.programs)
    return {};
  SameCut same{
      (step.stepSeconds - step.loopSeconds + step.leastLoopSeconds - step.exposedGradientSeconds) *
          (1 - 1e-9),
      std::numeric_limits<double>::infinity()};
  for (const StageEstimate &stage : step.stages) {
    double room = stage.memoryLimit - stage.memory.total() - model.cells->process.perCommunicator;
    if (stage.memory.optimizer > 0 || room < 0)
      same.mostTimesMore =
          std::min(same.mostTimesMore, room < 0 ? -1 : room / stage.memory.optimizer);
  }
  return same;
}

Costed costStep(const ModelCost &model, const Decisions &d, const EstimateRequest &request,
                const SearchOptions &options, int64_t number) {
  Costed costed;
  Candidate &candidate = costed.candidate;
  candidate = {d, estimateStep(model, d, request), number};
  const StepEstimate &step = candidate.step;
  costed.counts = step.fits || options.ignoreMemory;
  if (options.fitProbability)
    candidate.fitProbability = options.fitProbability(step);
  // A smaller memory makes no step faster, but may make it likelier to fit.
  costed.leastWithHost = step.hostGainsMemoryAlone && candidate.fitProbability == 1
                             ? std::numeric_limits<double>::infinity()
                             : step.leastWithHostSeconds;
  if (model.kinds.empty() && !request.programs)
    costed.leastOfGroups = leastSecondsInGroups(step, d);
  costed.sameCut = sameCutOf(model, d, step, request);
  double forMemory = step.recomputeSeconds + step.exposedHostSeconds;
  if (step.fits && costed.leastOfGroups > 0)
    costed.leastOfGroupsWithoutRecomputation = costed.leastOfGroups - forMemory;
  // Another cut may need less recomputation.
  if (!step.isCutByMemory && !step.otherCut)
    costed.leastWithoutRecomputation = step.leastSeconds() - forMemory;
  return costed;
}

} // namespace dtc
