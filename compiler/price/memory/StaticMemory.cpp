// Asks the compiler for placements and the static memory plan of a plan.
#include "compiler/price/memory/StaticMemory.h"

#include "compiler/decide/plan/ApplyPlan.h"
#include "compiler/decide/plan/PlacementText.h"
#include "compiler/decide/plan/PlanOrders.h"
#include "compiler/decide/plan/ScheduleDecisions.h"
#include "compiler/price/workload/DimRoles.h"
#include "compiler/search/placement/PlaceStep.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Partition.h"
#include "passes/shard/StatePlacement.h"

#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dtc {
namespace {

// Largest number of micro-batches of a step without pipeline that is scheduled as a whole: its
// tasks are the same for any number of them, and only their order grows.
constexpr int64_t kMostWhole = 256;

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
  Mesh mesh = stageMesh(model, plan.decisions);
  llvm::StringMap<int64_t> dims;
  if (plan.decisions.hasExpertParallelism()) {
    OwningOpRef<ModuleOp> bound(model.clone());
    PassManager passes(model.getContext());
    passes.enableVerifier(false);
    addBindBatch(passes, stepOptions(plan));
    if (failed(passes.run(*bound)))
      return false;
    dims = expertDims(*bound);
  }
  placeParameters(*placed, placements.parameters, mesh);
  for (unsigned axis : mesh.axesOf(AxisRole::Expert))
    for (const auto &entry : dims) {
      auto parameter = placed->lookupSymbol<graph::ParameterOp>(entry.getKey());
      Placement placement = fromAttr(parameter.getPlacementAttr(), mesh);
      placement[axis] = AxisPlacement::shard(entry.getValue());
      parameter.setPlacementAttr(toAttr(model.getContext(), placement));
    }
  if (plan.decisions.zero >= 3)
    for (auto parameter : placed->getOps<graph::ParameterOp>()) {
      Placement inUse = fromAttr(parameter.getPlacementAttr(), mesh);
      auto type = cast<RankedTensorType>(parameter.getType());
      parameter.setPlacementAttr(toAttr(model.getContext(), shardedAtRest(type, inUse, mesh)));
    }
  recordPlacements(*placed, mesh, plan);
  for (auto parameter : placed->getOps<graph::ParameterOp>())
    if (auto found = dims.find(parameter.getSymName()); found != dims.end())
      for (const std::string &member : parameter.getMemberNames())
        plan.tensors[member]["ep"] = shardText(found->second);
  return true;
}

OwningOpRef<ModuleOp> scheduleStep(ModuleOp model, const Plan &plan, const StepOptions &settings,
                                   const ScheduleOptions &options) {
  OwningOpRef<ModuleOp> module(model.clone());
  if (failed(applyPlan(*module, plan)))
    return nullptr;
  bool hasStages = plan.decisions.pp > 1;
  PassManager graph(model.getContext()), shard(model.getContext()), schedule(model.getContext());
  for (PassManager *passes : {&graph, &shard, &schedule})
    passes->enableVerifier(false);
  addGraphPhase(graph, stepOptions(plan, settings));
  addShardPhase(shard);
  if (hasStages)
    addStagesPhase(schedule, options);
  else
    addSchedulePhase(schedule, options);
  if (failed(graph.run(*module)) || failed(placeStep(*module, plan.opSplits)) ||
      failed(shard.run(*module)) || (hasStages && !orderStages(*module, plan, options.onGpu)) ||
      failed(schedule.run(*module)))
    return nullptr;
  return module;
}

static std::optional<SizedStep> sizesWith(ModuleOp model, Plan plan, const StepOptions &settings,
                                          int64_t microBatches, bool onGpu) {
  plan.decisions.numMicroBatches = microBatches;
  ScheduleOptions options = scheduleOptions(plan.decisions);
  options.roll = options.check = false;
  options.onGpu = onGpu;
  SizedStep sized;
  sized.step = {scheduleStep(model, plan, settings, options), stepOptions(plan, settings), onGpu};
  if (!sized.step.module)
    return std::nullopt;
  for (auto program : sized.step.module->getOps<exec::ProgramOp>())
    sized.sizes.push_back({static_cast<int64_t>(program.getArenaBytes().value_or(0)),
                           static_cast<int64_t>(program.getHostBytes()), lengthOfStep(program)});
  return sized;
}

// Extrapolates from few micro-batches: beyond those in flight, each further one adds its tokens,
// which exist from the start, and one more run of the same tasks.
static std::optional<SizedStep> sizesOf(ModuleOp model, const Plan &plan,
                                        const StepOptions &settings, bool onGpu, bool isWhole) {
  const Decisions &d = plan.decisions;
  // Two of the same rest by pp, so that all interleaved rounds end in the same way.
  int64_t fewer = 4 * d.pp * d.virtualStages + d.numMicroBatches % d.pp, more = fewer + 2 * d.pp;
  int64_t mostWhole = d.pp > 1 ? more : std::max(more, kMostWhole);
  if (isWhole || d.numMicroBatches <= mostWhole)
    return sizesWith(model, plan, settings, d.numMicroBatches, onGpu);
  std::optional<SizedStep> least = sizesWith(model, plan, settings, fewer, onGpu),
                           sized = sizesWith(model, plan, settings, more, onGpu);
  if (!least || !sized)
    return std::nullopt;
  for (auto [stage, before] : llvm::zip_equal(sized->sizes, least->sizes)) {
    auto grow = [&](int64_t &now, int64_t then) {
      now += llvm::divideCeilSigned((now - then) * (d.numMicroBatches - more), more - fewer);
    };
    grow(stage.device, before.device);
    grow(stage.host, before.host);
    grow(stage.length.instructions, before.length.instructions);
    grow(stage.length.stops, before.length.stops);
  }
  sized->step = {};
  return sized;
}

std::optional<std::vector<StaticSize>> staticSizes(ModuleOp model, const Plan &plan, bool onGpu,
                                                   bool isWhole) {
  std::optional<SizedStep> sized = sizesOf(model, plan, {}, onGpu, isWhole);
  return sized ? std::optional(std::move(sized->sizes)) : std::nullopt;
}

std::optional<SizedStep> sizeStep(ModuleOp model, const Plan &plan, const StepOptions &settings,
                                  bool onGpu) {
  std::optional<SizedStep> sized = sizesOf(model, plan, settings, onGpu, /*isWhole=*/false);
  if (sized && plan.decisions.pp > 1)
    sized->step = {};
  return sized;
}

} // namespace dtc
