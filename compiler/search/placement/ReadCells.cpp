// Partitions the folded model and hands its functions to the cell builder.
#include "compiler/search/placement/ReadCells.h"

#include "compiler/price/workload/CellBuilder.h"
#include "compiler/search/placement/PlaceStep.h"
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

// Calls that tell which parameters have the same placement are in the folded model alone, so they
// are placed there.
void placeAsFolded(ModuleOp step, ModuleOp folded,
                   const std::map<std::string, std::vector<int64_t>> &parameters,
                   const Mesh &mesh) {
  OwningOpRef<ModuleOp> placed(folded.clone());
  placeParameters(*placed, parameters, mesh);
  SymbolTable symbols(*placed);
  for (auto parameter : step.getOps<graph::ParameterOp>())
    parameter.setPlacementAttr(
        symbols.lookup<graph::ParameterOp>(parameter.getSymName()).getPlacementAttr());
}

LogicalResult partition(ModuleOp step, ModuleOp folded, int64_t tp, bool sequenceParallel,
                        const SearchedPlacements &placements) {
  Mesh mesh = stepMesh(folded, {.tp = tp});
  placeAsFolded(step, folded, placements.parameters, mesh);
  writeMesh(step, mesh);
  if (sequenceParallel)
    step->setAttr(graph::kSequenceParallelAttr, UnitAttr::get(step.getContext()));
  if (failed(placeStep(step, placements.splits)))
    return failure();
  return runPasses(step, addShardPhase);
}

} // namespace

FoldedModel foldFor(ModuleOp model, Precision precision) {
  FoldedModel folded = foldLayers(model);
  if (precision == Precision::F16)
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
  OwningOpRef<ModuleOp> differentiated = differentiateFolded(*model.module);
  return differentiated
             ? readCells(model, *differentiated, tp, sequenceParallel, placements, foldsExperts)
             : std::nullopt;
}

std::optional<ModelCells> readCells(const FoldedModel &model, ModuleOp differentiated, int64_t tp,
                                    bool sequenceParallel, const SearchedPlacements &placements,
                                    bool foldsExperts) {
  OwningOpRef<ModuleOp> module(differentiated.clone());
  if (failed(partition(*module, *model.module, tp, sequenceParallel, placements)))
    return std::nullopt;
  ModelCells cells = CellBuilder(*module, kSamples, foldsExperts).build();
  cells.tp = tp;
  cells.sequenceParallel = sequenceParallel;
  cells.foldsExperts = foldsExperts;
  cells.chain = model.chain;
  // The first stage has them, whole on each rank of tensor parallelism.
  cells.embedding.parameters.parts[0] += model.unread;
  cells.embedding.frozen.parts[0] += model.unreadFrozen;
  return cells;
}

} // namespace dtc
