// Writes a plan's decisions into a model.
#include "compiler/plan/ApplyPlan.h"

#include "compiler/plan/DecisionNames.h"
#include "compiler/plan/PlacementText.h"
#include "passes/shard/Mesh.h"

using namespace mlir;

namespace dtc {
namespace {

Mesh meshOf(const Plan &plan) { return {{"dp", "tp"}, {plan.decisions.dp, plan.decisions.tp}}; }

// "replicate" or "shard(DIM)" with DIM below `numDims`.
std::optional<AxisPlacement> parsePlacement(StringRef text, int64_t numDims) {
  if (text == "replicate")
    return AxisPlacement::replicate();
  std::optional<int64_t> dim = shardDimOf(text);
  if (!dim || *dim >= numDims)
    return std::nullopt;
  return AxisPlacement::shard(*dim);
}

LogicalResult placeParameter(graph::ParameterOp parameter, const Plan &plan, const Mesh &mesh) {
  auto entry = plan.tensors.find(parameter.getSymName().str());
  if (entry == plan.tensors.end())
    return parameter.emitError()
           << "parameter '" << parameter.getSymName()
           << ("' is not among the plan's tensors; plan this model again with 'dtc plan'");
  auto type = cast<RankedTensorType>(parameter.getType());
  Placement placement = replicated(mesh);
  for (const auto &[axis, text] : entry->second) {
    int index = mesh.axisNamed(axis);
    std::optional<AxisPlacement> axisPlacement = parsePlacement(text, type.getRank());
    if (index < 0 || !axisPlacement)
      return parameter.emitError()
             << "parameter '" << parameter.getSymName() << "' is placed '" << text << "' on axis '"
             << axis << "' by the plan; wanted axis dp or tp and "
             << "replicate or shard(DIM) with DIM below " << type.getRank();
    if (axis == "dp" && axisPlacement->isShard() && plan.decisions.dp > 1)
      return parameter.emitError()
             << "parameter '" << parameter.getSymName()
             << ("' is split over dp by the plan; dtc can't compile that yet, use replicate");
    placement[index] = *axisPlacement;
  }
  parameter.setPlacementAttr(toAttr(parameter.getContext(), placement));
  return success();
}

} // namespace

std::string whyNotExecutable(const Plan &plan) {
  struct Limit {
    const char *key;
    int64_t found, most;
  };
  for (Limit limit : {Limit{"pp", plan.decisions.pp, 1}, Limit{"cp", plan.decisions.cp, 1},
                      Limit{"ep", plan.decisions.ep, 1}, Limit{"zero", plan.decisions.zero, 1},
                      Limit{"virtual_stages", plan.decisions.virtualStages, 1}})
    if (limit.found > limit.most)
      return "the plan has " + std::string(limit.key) + " = " + std::to_string(limit.found) +
             ", which dtc can't compile yet; plan with --fix " + limit.key + "=" +
             std::to_string(limit.most);
  if (plan.decisions.offloadOptimizer)
    return "the plan keeps optimizer states on the host, which dtc can't compile yet; plan with "
           "--fix offload=0";
  if (plan.decisions.recomputeMost != Recompute::None)
    return "the plan has recompute = " + recomputeText(plan.decisions) +
           ", which dtc can't compile yet; plan with --fix recompute=none";
  if (plan.precision != "f32")
    return "the plan has precision " + plan.precision +
           ", which dtc can't compile yet; plan with --precision f32";
  if (plan.optimizer != "adamw" && plan.optimizer != "sgd")
    return "the plan has optimizer " + plan.optimizer +
           ", which dtc can't compile yet; plan with --optimizer adamw or sgd";
  return "";
}

LogicalResult applyPlan(ModuleOp module, const Plan &plan) {
  Mesh mesh = meshOf(plan);
  writeMesh(module, mesh);
  Builder builder(module.getContext());
  module->setAttr("graph.zero", builder.getI64IntegerAttr(plan.decisions.zero));
  if (plan.decisions.sequenceParallel)
    module->setAttr("graph.sequence_parallel", builder.getUnitAttr());
  for (auto parameter : module.getOps<graph::ParameterOp>())
    if (failed(placeParameter(parameter, plan, mesh)))
      return failure();
  return success();
}

void recordPlacements(ModuleOp module, Plan &plan) {
  Mesh mesh = meshOf(plan);
  plan.tensors.clear();
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    Placement placement = fromAttr(parameter.getPlacementAttr(), mesh);
    for (auto [name, axis] : llvm::zip(mesh.names, placement))
      plan.tensors[parameter.getSymName().str()][name] =
          axis.isShard() ? shardText(axis.dim) : "replicate";
  }
}

} // namespace dtc
