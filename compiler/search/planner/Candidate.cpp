// Decisions with the estimate of their step.
#include "compiler/search/planner/Candidate.h"

#include "compiler/decide/decisions/Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dtc {
namespace {

// Replaces the allowed recomputation by the one that layers of the estimate use.
void setRecompute(Decisions &d, llvm::ArrayRef<StageEstimate> stages) {
  Recompute least = Recompute::Full, most = Recompute::None;
  for (const StageEstimate &stage : stages)
    for (Recompute recompute : kRecomputes)
      if (stage.layersThat(recompute) > 0) {
        least = std::min(least, recompute);
        most = std::max(most, recompute);
      }
  d.recompute = std::min(least, most); // no layers: none
  d.recomputeMost = most;
}

// Returns the decisions with the layers on the host that the estimate has there.
Decisions withHostOf(llvm::ArrayRef<StageEstimate> stages, const Decisions &d) {
  int64_t layers = 0, onHost = 0;
  for (const StageEstimate &stage : stages) {
    for (Recompute recompute : kRecomputes)
      layers += stage.layersThat(recompute);
    onHost += stage.offloadedLayers;
  }
  return withOffloadedLayers(d, onHost, layers);
}

} // namespace

Decisions decisionsOf(const Candidate &candidate) {
  Decisions d = withBuckets(candidate.decisions, candidate.step.bucketBytes);
  setRecompute(d, candidate.step.stages);
  return withHostOf(candidate.step.stages, d);
}

void sortByScore(llvm::MutableArrayRef<Candidate> candidates) {
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::tuple(a.score(), !a.step.isRefined, a.number) <
           std::tuple(b.score(), !b.step.isRefined, b.number);
  });
}

} // namespace dtc
