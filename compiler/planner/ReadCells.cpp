// Partitions the folded model and hands its functions to the cell builder.
#include "compiler/planner/ReadCells.h"

#include "compiler/driver/Pipelines.h"
#include "compiler/planner/ApplyPlan.h"
#include "compiler/planner/CellBuilder.h"
#include "passes/shard/ParameterPlacement.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dtc {
namespace {

// Not 1, so that no dim of the batch folds away.
constexpr int64_t kSamples = 2;

LogicalResult partition(ModuleOp module, int64_t tp, bool sequenceParallel) {
  MLIRContext *context = module.getContext();
  StepOptions step;
  step.batch = kSamples;
  PassManager bind(context), rest(context);
  bind.enableVerifier(false);
  rest.enableVerifier(false);
  addBindBatch(bind, step);
  if (failed(bind.run(module)))
    return failure();
  Mesh mesh{{"dp", "tp"}, {1, tp}};
  ParameterPlacementOptions options;
  options.weightAxis = tp > 1 ? 1 : -1;
  options.policy = {/*dataAxis=*/0, sequenceParallel};
  if (failed(chooseParameterPlacements(module, mesh, options)))
    return failure();
  writeMesh(module, mesh);
  if (sequenceParallel)
    module->setAttr("graph.sequence_parallel", UnitAttr::get(context));
  addGraphPhase(rest, step);
  addShardPhase(rest);
  return rest.run(module);
}

} // namespace

std::optional<ModelCells> readCells(const FoldedModel &model, int64_t tp, bool sequenceParallel) {
  ModuleOp source = *model.module;
  OwningOpRef<ModuleOp> module(source.clone());
  if (failed(partition(*module, tp, sequenceParallel)))
    return std::nullopt;
  ModelCells cells = CellBuilder(*module, kSamples).build();
  cells.tp = tp;
  cells.sequenceParallel = sequenceParallel;
  cells.chain = model.chain;
  return cells;
}

} // namespace dtc
