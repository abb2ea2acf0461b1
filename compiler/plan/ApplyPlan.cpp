// Writes a plan's decisions into a model.
#include "compiler/plan/ApplyPlan.h"

#include "compiler/plan/PlacementText.h"
#include "passes/shard/Mesh.h"

using namespace mlir;

namespace dtc {
namespace {

Mesh meshOf(const Plan &plan) {
  return {{"dp", "tp"}, {plan.decisions.dp, plan.decisions.tp}, {AxisRole::Data, AxisRole::Tensor}};
}

// "replicate" or "shard(DIM)" with DIM below `numDims`.
std::optional<AxisPlacement> parsePlacement(StringRef text, int64_t numDims) {
  if (text == "replicate")
    return AxisPlacement::replicate();
  std::optional<int64_t> dim = shardDimOf(text);
  if (!dim || *dim >= numDims)
    return std::nullopt;
  return AxisPlacement::shard(*dim);
}

// Where the plan says that one of the parameters that `parameter` stands for is.
FailureOr<Placement> readPlacement(graph::ParameterOp parameter, const std::string &name,
                                   const Plan &plan, const Mesh &mesh) {
  auto entry = plan.tensors.find(name);
  if (entry == plan.tensors.end())
    return parameter.emitError()
           << "parameter '" << name
           << ("' is not among the plan's tensors; plan this model again with 'dtc plan'");
  auto type = cast<RankedTensorType>(parameter.getType());
  Placement placement = replicated(mesh);
  for (const auto &[axis, text] : entry->second) {
    int index = mesh.axisNamed(axis);
    std::optional<AxisPlacement> axisPlacement = parsePlacement(text, type.getRank());
    if (index < 0 || !axisPlacement)
      return parameter.emitError()
             << "parameter '" << name << "' is placed '" << text << "' on axis '" << axis
             << "' by the plan; wanted axis dp or tp and "
             << "replicate or shard(DIM) with DIM below " << type.getRank();
    // A model may say itself how a parameter that rests split is used.
    if (axis == "dp" && axisPlacement->isShard() && plan.decisions.dp > 1 && !parameter.getInUse())
      return parameter.emitError()
             << "parameter '" << name
             << ("' is split over dp by the plan; dtc can't compile that yet, use replicate");
    placement[index] = *axisPlacement;
  }
  return placement;
}

LogicalResult placeParameter(graph::ParameterOp parameter, const Plan &plan, const Mesh &mesh) {
  SmallVector<std::string> names = parameter.getMemberNames();
  std::optional<Placement> first;
  for (const std::string &name : names) {
    FailureOr<Placement> placement = readPlacement(parameter, name, plan, mesh);
    if (failed(placement))
      return failure();
    if (first && *first != *placement)
      return parameter.emitError()
             << "parameter '" << name << "' is placed otherwise than '" << names.front()
             << "' by the plan; the layers of a repeat are placed alike";
    first = *placement;
  }
  parameter.setPlacementAttr(toAttr(parameter.getContext(), *first));
  return success();
}

} // namespace

LogicalResult applyPlan(ModuleOp module, const Plan &plan) {
  Mesh mesh = meshOf(plan);
  writeMesh(module, mesh);
  Builder builder(module.getContext());
  module->setAttr(graph::kZeroAttr, builder.getI64IntegerAttr(plan.decisions.zero));
  if (plan.decisions.sequenceParallel)
    module->setAttr(graph::kSequenceParallelAttr, builder.getUnitAttr());
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
      for (const std::string &member : parameter.getMemberNames())
        plan.tensors[member][name] = axis.isShard() ? shardText(axis.dim) : "replicate";
  }
}

} // namespace dtc
