// Writes a plan's decisions into a model.
#include "compiler/decide/plan/ApplyPlan.h"

#include "compiler/decide/plan/ApplyLayers.h"
#include "compiler/decide/plan/PlacementText.h"
#include "passes/shard/Partition.h"
#include "passes/shard/StatePlacement.h"
#include "passes/shard/StepMesh.h"

using namespace mlir;

namespace dtc {
namespace {

// The axes that a plan knows by one name: of data parallelism that among whose ranks tensors are
// split.
SmallVector<unsigned, 2> axesNamed(StringRef name, const Mesh &mesh) {
  if (name == "dp")
    return SmallVector<unsigned, 2>(1, mesh.axesOf(AxisRole::Data).back());
  return name == "tp" ? mesh.axesOf(AxisRole::Tensor) : SmallVector<unsigned, 2>();
}

// "replicate" or "shard(DIM)" with DIM below `numDims`, on each of the axes; false for others.
bool readDims(StringRef text, ArrayRef<unsigned> axes, int64_t numDims, Placement &placement) {
  std::optional<SmallVector<int64_t, 2>> dims = placementDimsOf(text, axes.size());
  if (!dims || llvm::any_of(*dims, [&](int64_t dim) { return dim >= numDims; }))
    return false;
  for (auto [axis, dim] : llvm::zip(axes, *dims))
    placement[axis] = dim < 0 ? AxisPlacement::replicate() : AxisPlacement::shard(dim);
  return true;
}

// Reads the plan's placement of one of the parameters that `parameter` stands for.
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
    SmallVector<unsigned, 2> axes = axesNamed(axis, mesh);
    if (axes.empty() || !readDims(text, axes, type.getRank(), placement))
      return parameter.emitError()
             << "parameter '" << name << "' is placed '" << text << "' on axis '" << axis
             << "' by the plan; wanted axis dp or tp and "
             << "replicate or shard(DIM) with DIM below " << type.getRank();
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
  // A parameter that is sharded over dp at rest is gathered for use, unless the model says
  // otherwise.
  std::optional<unsigned> axis = shardAxis(mesh);
  if (axis && (*first)[*axis].isShard() && !parameter.getInUse()) {
    (*first)[*axis] = AxisPlacement::replicate();
    parameter.setInUseAttr(toAttr(parameter.getContext(), *first));
  }
  return success();
}

} // namespace

Mesh stageMesh(ModuleOp module, const Decisions &d) {
  return stepMesh(module, {d.dp, d.tp, /*pp=*/1, d.zeroRanks()});
}

LogicalResult applyPlan(ModuleOp module, const Plan &plan) {
  if (failed(applyToLayers(module, plan)))
    return failure();
  const Decisions &d = plan.decisions;
  Mesh mesh = stepMesh(module, {d.dp, d.tp, d.pp, d.zeroRanks()});
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

void recordPlacements(ModuleOp module, const Mesh &mesh, Plan &plan) {
  plan.tensors.clear();
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    Placement placement = fromAttr(parameter.getPlacementAttr(), mesh);
    for (StringRef name : {"dp", "tp"}) {
      SmallVector<int64_t, 2> dims;
      for (unsigned axis : axesNamed(name, mesh))
        dims.push_back(placement[axis].isShard() ? placement[axis].dim : -1);
      for (const std::string &member : parameter.getMemberNames())
        plan.tensors[member][name.str()] = placementText(dims);
    }
  }
}

} // namespace dtc
