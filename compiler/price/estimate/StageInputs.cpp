// The inputs of everything that is known about the stages of one set of decisions.
#include "compiler/price/estimate/StageInputs.h"

#include "compiler/search/pipeline/Schedule.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {

StageInputs::StageInputs(const ModelCost &model, const Decisions &decisions,
                         const EstimateRequest &request)
    : model(model), d(decisions), request(request), overlap(model.overlap),
      process(model.cells->process), bucketSizes(request.bucketSizesOf(d)),
      known(request.shared ? request.shared->of(decisions) : own),
      kinds(stageKindsOf(model, decisions, request, known)) {
  assert((!sharesVocabulary() || (model.vocabulary && model.kinds.empty())) &&
         "stages share out vocabularies that costModel has divided, on homogeneous devices");
  assert((!d.offloadsAllLayers() || !d.mayRecomputeMore()) &&
         "layers that are all on the host all recompute the same");
}

size_t StageInputs::stageOf(size_t chunk) const {
  return static_cast<size_t>(
      stageOfChunk(d.schedule, static_cast<int>(d.pp), static_cast<int>(chunk)));
}

llvm::SmallVector<size_t, 8> StageInputs::chunksOn(size_t stage) const {
  llvm::SmallVector<size_t, 8> on;
  for (size_t chunk = 0; chunk < static_cast<size_t>(chunks()); ++chunk)
    if (stageOf(chunk) == stage)
      on.push_back(chunk);
  return on;
}

bool StageInputs::isSent(size_t chunk) const {
  return chunk + 1 < static_cast<size_t>(chunks()) && stageOf(chunk) != stageOf(chunk + 1);
}

int64_t StageInputs::leastLayersOf(size_t stage) const {
  if (d.evenStages) // any chunk may have none
    return 0;
  bool mayBegin = stage == 0 && mayBeginWithoutLayers(), mayEnd = holdsHead(stage) && d.pp > 1;
  return d.virtualStages - mayBegin - mayEnd;
}

bool StageInputs::mayCutByMemory() const {
  return isUniform() && d.pp > 1 && !d.evenStages &&
         (d.virtualStages == 1 || llvm::all_equal(model.cells->chain));
}

} // namespace dtc
