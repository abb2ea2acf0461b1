// Finds the decisions that need the smallest memory.
#include "compiler/search/planner/LeastMemorySearch.h"

#include "compiler/decide/decisions/AllDecisions.h"
#include "compiler/decide/decisions/Decision.h"
#include "compiler/decide/decisions/Memory.h"
#include "compiler/price/estimate/StepBounds.h"
#include "compiler/search/planner/DetailSpace.h"

#include <algorithm>
#include <limits>
#include <set>

namespace dtc {

// The smallest improvement of the memory need that is worth another cut.
constexpr double kFinerNeed = 2e-3;

void LeastMemorySearch::run() {
  visitMeshes([this](const ModelCost &model, Decisions d, Recompute most) {
    if (d.recompute == most) // ZeRO over all of dp needs least.
      cost(model, d);
    if (d.offloadsSomeLayers()) {
      d = withLayersOnHost(d, LayersOnHost::All);
      if (isAllowed(d, inputs.limits))
        cost(model, d);
    }
  });
  if (!smallest.candidate || inputs.request.programs || smallest.candidate->step.hostIsShort)
    return;
  // Stages that are cut by memory may need less than those above, which are cut by seconds. The cut
  // is repeated as long as the need falls.
  visitMeshes([this](const ModelCost &model, const Decisions &d, Recompute most) {
    if (d.pp > 1 && model.kinds.empty() && d.mayRecomputeMore() && d.recomputeMost == most)
      cut(model, d);
  });
}

void LeastMemorySearch::cost(const ModelCost &model, const Decisions &d) {
  EstimateRequest less = inputs.request;
  less.memoryLimit *= smallest.candidate ? smallest.candidate->step.memoryNeed
                                         : std::numeric_limits<double>::infinity();
  work.add(1);
  if (!mayFit(model, d, less))
    return;
  int64_t number = work.addCandidate(d);
  smallest.note({d, estimateStep(model, d, inputs.request), number});
}

// Visits every detail of the meshes that differ in memory.
void LeastMemorySearch::visitMeshes(Visitor visitor) {
  std::set<Decisions> seen;
  for (Decisions mesh : inputs.meshes) {
    Decisions lean = keyOf(KeptResult::LeastMemory, mesh);
    lean.numMicroBatches = std::min<int64_t>(mesh.numMicroBatches, 2); // one needs no sums
    if (!seen.insert(lean).second)
      continue;
    if (work.isSpent(/*isForLeastMemory=*/true))
      return;
    std::vector<Decisions> details = enumerateDetails(mesh, inputs.limits, inputs.pins);
    Recompute most = Recompute::None;
    for (const Decisions &d : details)
      most = std::max(most, d.recompute);
    for (int point : costs.placementsOf(mesh)) {
      mesh.placement = point;
      const ModelCost &model = costs.costOf(mesh);
      for (Decisions d : details) {
        d.placement = point;
        visitor(model, d, most);
      }
    }
  }
}

// Cuts stages by a smaller and smaller memory.
void LeastMemorySearch::cut(const ModelCost &model, const Decisions &d) {
  const EstimateRequest &request = inputs.request;
  EstimateRequest less = request;
  while (!work.isSpent(/*isForLeastMemory=*/true)) {
    less.memoryLimit = smallest.candidate->step.memoryNeed * request.memoryLimit * (1 - kFinerNeed);
    if (!mayFit(model, d, less) ||
        !mayFitWithin(model, d, less, std::numeric_limits<double>::infinity()))
      return;
    StepEstimate step = estimateStep(model, d, less);
    int64_t number = work.addCandidate(d);
    if (!step.fits)
      return;
    step.fits = false;
    step.memoryNeed *= less.memoryLimit / request.memoryLimit;
    smallest.candidate = Candidate{d, std::move(step), number};
  }
}

} // namespace dtc
