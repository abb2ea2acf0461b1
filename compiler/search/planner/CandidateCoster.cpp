// Costs candidates for a search.
#include "compiler/search/planner/CandidateCoster.h"

#include "compiler/price/estimate/StepBounds.h"

#include <memory>

namespace dtc {

void SmallestNeed::note(const Candidate &other) {
  if (!candidate || other.step.memoryNeed < candidate->step.memoryNeed)
    candidate = other;
}

bool CandidateCoster::mayFit(const ModelCost &model, const Decisions &d) const {
  return inputs.options.ignoreMemory || dtc::mayFit(model, d, inputs.request);
}

bool CandidateCoster::mayFitFaster(const ModelCost &model, const Decisions &d,
                                   const Contest &contest) const {
  return !inputs.options.prune || inputs.options.ignoreMemory ||
         mayFitWithin(model, d, inputs.request, contest.toBeat());
}

Costed CandidateCoster::cost(const ModelCost &model, const Decisions &d) const {
  Costed costed = costStep(model, d, inputs.request, inputs.options, work.addCandidate(d));
  smallest.note(costed.candidate);
  return costed;
}

void CandidateCoster::enter(Candidate candidate, Contest &contest) const {
  if (std::optional<Candidate> leaner = withLessMemory(candidate, contest))
    contest.enter(std::move(*leaner));
  contest.enter(std::move(candidate));
}

// Returns the same decisions under the smaller limit of lessMemoryShare, if layers can recompute or
// offload more for it.
std::optional<Candidate> CandidateCoster::withLessMemory(const Candidate &candidate,
                                                         const Contest &contest) const {
  const SearchOptions &options = inputs.options;
  const Decisions &d = candidate.decisions;
  // Cuts over heterogeneous devices are known for one limit alone.
  bool isHomogeneous = inputs.request.topology->isUniform();
  if (options.lessMemoryShare == 0 || candidate.fitProbability == 1 || !d.mayKeepLess() ||
      !isHomogeneous || contest.isBeaten(candidate.step.leastSeconds()))
    return std::nullopt;
  EstimateRequest less = inputs.request;
  less.memoryLimit *= options.lessMemoryShare;
  less.usableShare *= options.lessMemoryShare;
  int64_t number = work.addCandidate(d);
  Candidate leaner{d, estimateStep(costs.costOf(d), d, less), number};
  if (!leaner.step.fits)
    return std::nullopt;
  restoreLimits(leaner.step);
  leaner.fitProbability = options.fitProbability(leaner.step);
  if (leaner.step.peakBytes >= candidate.step.peakBytes)
    return std::nullopt;
  return leaner;
}

// Converts the memory figures of a step from the smaller limit to the real one.
void CandidateCoster::restoreLimits(StepEstimate &step) const {
  double share = inputs.options.lessMemoryShare;
  step.memoryNeed *= share;
  for (StageEstimate &stage : step.stages)
    stage.memoryLimit /= share;
  if (!step.otherCut)
    return;
  StepEstimate other = *step.otherCut;
  restoreLimits(other);
  step.otherCut = std::make_shared<StepEstimate>(std::move(other));
}

} // namespace dtc
