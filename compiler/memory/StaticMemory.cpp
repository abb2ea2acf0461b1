// What the compiler itself says of a plan.
#include "compiler/memory/StaticMemory.h"

#include "compiler/placement/PlaceStep.h"
#include "compiler/plan/ApplyPlan.h"
#include "compiler/plan/PlacementText.h"
#include "compiler/workload/DimRoles.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/StepMesh.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace dtc {
namespace {

StepOptions stepOf(const Plan &plan) {
  StepOptions step;
  step.batch = plan.decisions.dp * plan.decisions.microBatch;
  step.microBatches = plan.decisions.numMicroBatches;
  step.optimizer = plan.optimizer;
  return step;
}

// The expert dim of every parameter that has one: dims of weights say so in the ops that read them.
llvm::StringMap<int64_t> expertDims(ModuleOp module) {
  llvm::StringMap<int64_t> dims;
  DimRoles roles(module, graph::kLossFunction);
  for (auto get :
       module.lookupSymbol<graph::FuncOp>(graph::kLossFunction).getBody().getOps<graph::GetOp>())
    for (auto [dim, bits] : llvm::enumerate(roles.of(get.getResult())))
      if (bits & ScalesWithExperts)
        dims[get.getSymbol()] = static_cast<int64_t>(dim);
  return dims;
}

} // namespace

bool placeTensors(ModuleOp model, Plan &plan, const SearchedPlacements &placements) {
  OwningOpRef<ModuleOp> placed(model.clone());
  plan.opSplits = placements.splits;
  Mesh mesh = stepMesh(model, plan.decisions.dp, plan.decisions.tp);
  placeParameters(*placed, placements.parameters, mesh);
  recordPlacements(*placed, mesh, plan);
  if (plan.decisions.ep > 1) {
    PassManager passes(model.getContext());
    passes.enableVerifier(false);
    addBindBatch(passes, stepOf(plan));
    if (failed(passes.run(*placed)))
      return false;
    for (const auto &entry : expertDims(*placed))
      plan.tensors[entry.getKey().str()]["ep"] = shardText(entry.getValue());
  }
  // ZeRO-3 cuts what a rank would hold into equal runs of its first dim.
  if (plan.decisions.zero >= 3 && plan.decisions.dp > 1)
    for (auto &[name, axes] : plan.tensors)
      axes["dp"] = shardText(0);
  return true;
}

bool scheduleStep(ModuleOp model, const Plan &plan, const ScheduleOptions &options,
                  llvm::function_ref<void(exec::ProgramOp)> use) {
  OwningOpRef<ModuleOp> module(model.clone());
  if (failed(applyPlan(*module, plan)))
    return false;
  PassManager graph(model.getContext()), passes(model.getContext());
  graph.enableVerifier(false);
  passes.enableVerifier(false);
  addGraphPhase(graph, stepOf(plan));
  addShardPhase(passes);
  addSchedulePhase(passes, options);
  if (failed(graph.run(*module)) || failed(placeStep(*module, plan.opSplits)) ||
      failed(passes.run(*module)))
    return false;
  for (auto program : module->getOps<exec::ProgramOp>())
    use(program);
  return true;
}

std::optional<int64_t> staticMemoryBytes(ModuleOp model, const Plan &plan) {
  int64_t bytes = 0;
  auto read = [&](exec::ProgramOp program) {
    bytes = static_cast<int64_t>(program.getArenaBytes().value_or(0));
  };
  if (!scheduleStep(model, plan, {.roll = false}, read))
    return std::nullopt;
  return bytes;
}

} // namespace dtc
