// Partitions the folded model and hands its functions to the cell builder.
#include "compiler/placement/ReadCells.h"

#include "compiler/placement/PlaceStep.h"
#include "compiler/workload/CellBuilder.h"
#include "passes/Pipelines.h"
#include "passes/graph/LossScale.h"
#include "passes/shard/StepMesh.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dtc {
namespace {

// Not 1, so that no dim of the batch folds away.
constexpr int64_t kSamples = 2;

StepOptions stepOptions() {
  StepOptions step;
  step.batch = kSamples;
  return step;
}

template <typename Add> LogicalResult runPasses(ModuleOp module, Add add) {
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  add(passes);
  return passes.run(module);
}

LogicalResult partition(ModuleOp module, int64_t tp, bool sequenceParallel,
                        const SearchedPlacements &placements) {
  StepOptions step = stepOptions();
  Mesh mesh = stepMesh(module, {.tp = tp});
  placeParameters(module, placements.parameters, mesh);
  writeMesh(module, mesh);
  if (sequenceParallel)
    module->setAttr(graph::kSequenceParallelAttr, UnitAttr::get(module.getContext()));
  if (failed(runPasses(module, [&](OpPassManager &p) { addGraphPhase(p, step); })) ||
      failed(placeStep(module, placements.splits)))
    return failure();
  return runPasses(module, addShardPhase);
}

} // namespace

FoldedModel foldFor(ModuleOp model, StringRef precision) {
  FoldedModel folded = foldLayers(model);
  if (precision == "f16")
    declareLossScale(*folded.module);
  return folded;
}

OwningOpRef<ModuleOp> differentiateFolded(ModuleOp folded) {
  OwningOpRef<ModuleOp> module(folded.clone());
  if (failed(runPasses(*module, [](OpPassManager &p) { addGraphPhase(p, stepOptions()); })))
    return nullptr;
  return module;
}

std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel,
                                    const SearchedPlacements &placements, bool foldsExperts) {
  ModuleOp source = *model.module;
  OwningOpRef<ModuleOp> module(source.clone());
  if (failed(partition(*module, tp, sequenceParallel, placements)))
    return std::nullopt;
  ModelCells cells = CellBuilder(*module, kSamples, foldsExperts).build();
  cells.tp = tp;
  cells.sequenceParallel = sequenceParallel;
  cells.foldsExperts = foldsExperts;
  cells.chain = model.chain;
  return cells;
}

} // namespace dtc
