// Writes a plan's decisions into a model.
#include "compiler/decide/plan/ApplyPlan.h"

#include "compiler/decide/plan/ApplyLayers.h"
#include "compiler/decide/plan/ContextSupport.h"
#include "compiler/decide/plan/PlacementText.h"
#include "dialects/graph/Context.h"
#include "dialects/graph/LossChunks.h"
#include "dialects/graph/StateOps.h"
#include "passes/graph/ExchangeHeads.h"
#include "passes/graph/ExchangeRows.h"
#include "passes/shard/Partition.h"
#include "passes/shard/StatePlacement.h"
#include "passes/shard/StepMesh.h"

using namespace mlir;

namespace dtc {
namespace {

// The axes that a plan knows by one name: of data parallelism those among whose ranks tensors are
// split, which are all that have the same experts for a tensor `ofExperts`.
SmallVector<unsigned, 2> axesNamed(StringRef name, bool ofExperts, const Mesh &mesh) {
  if (name == "dp")
    return ofExperts ? SmallVector<unsigned, 2>(1, mesh.axesOf(AxisRole::Data).back())
                     : shardAxes(mesh);
  if (name == "ep")
    return mesh.axesOf(AxisRole::Expert);
  return name == "tp" ? mesh.axesOf(AxisRole::Tensor) : SmallVector<unsigned, 2>();
}

// Returns true if a tensor is split by experts: ZeRO would split it alike over the ranks of dp.
bool isOfExperts(const Placement &placement, const Mesh &mesh) {
  return llvm::any_of(mesh.axesOf(AxisRole::Expert), [&](unsigned axis) {
    return placement[axis] != placement[mesh.axesOf(AxisRole::Data).back()];
  });
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
  bool ofExperts = entry->second.count("ep") > 0;
  for (const auto &[axis, text] : entry->second) {
    SmallVector<unsigned, 2> axes = axesNamed(axis, ofExperts, mesh);
    if (axes.empty() || !readDims(text, axes, type.getRank(), placement))
      return parameter.emitError()
             << "parameter '" << name << "' is placed '" << text << "' on axis '" << axis
             << "' by the plan; wanted axis dp, tp or, under expert parallelism, ep and "
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
             << "' by the plan; the layers of a repeat have the same placements";
    first = *placement;
  }
  parameter.setPlacementAttr(toAttr(parameter.getContext(), *first));
  // A parameter that is sharded over dp at rest is gathered for use, unless the model says
  // otherwise.
  Placement inUse = *first;
  for (unsigned axis : axesNamed("dp", isOfExperts(inUse, mesh), mesh))
    inUse[axis] = AxisPlacement::replicate();
  if (inUse != *first && !parameter.getInUse())
    parameter.setInUseAttr(toAttr(parameter.getContext(), inUse));
  return success();
}

} // namespace

// Experts are an axis of meshes that dtc compiles for: inside dp alone.
static int64_t expertRanks(const Decisions &d) {
  return d.cp == 1 && !d.foldedExperts && d.zeroRanks() % d.ep == 0 ? d.ep : 1;
}

Mesh stageMesh(ModuleOp module, const Decisions &d) {
  return stepMesh(
      module,
      {.dp = d.dp, .tp = d.tp, .zeroGroup = d.zeroRanks(), .ep = expertRanks(d), .cp = d.cp});
}

// Prepares attention for sequences on several ranks.
static LogicalResult splitSequences(ModuleOp module, const Decisions &d) {
  if (Operation *op = findUncuttable(module))
    return op->emitError("the model has ")
           << op->getName() << ", which dtc can't compile with cp yet; plan with --fix cp=1";
  if (d.contextKind == ContextKind::AllToAll)
    return exchangeHeads(module, d.cp * d.tp);
  graph::KeyTravel travel =
      d.contextKind == ContextKind::Ring ? graph::KeyTravel::Ring : graph::KeyTravel::Gather;
  module->setAttr(graph::kKeyTravelAttr,
                  StringAttr::get(module.getContext(), graph::toString(travel)));
  return success();
}

LogicalResult applyPlan(ModuleOp module, const Plan &plan) {
  if (failed(applyToLayers(module, plan)))
    return failure();
  const Decisions &d = plan.decisions;
  if (d.ep > 1 && failed(exchangeRows(module, {d.ep, d.expertRoomPerMille})))
    return failure();
  if (d.cp > 1 && failed(splitSequences(module, d)))
    return failure();
  Mesh mesh = stepMesh(module, {d.dp, d.tp, d.pp, d.zeroRanks(), expertRanks(d), d.cp});
  writeMesh(module, mesh);
  Builder builder(module.getContext());
  module->setAttr(graph::kZeroAttr, builder.getI64IntegerAttr(plan.decisions.zero));
  if (d.lossChunks > 1)
    module->setAttr(graph::kLossChunksAttr, builder.getI64IntegerAttr(d.lossChunks));
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
    bool ofExperts = isOfExperts(placement, mesh);
    for (StringRef name : {"dp", "tp", "ep"}) {
      if (name == "ep" && !ofExperts)
        continue;
      SmallVector<int64_t, 2> dims;
      for (unsigned axis : axesNamed(name, ofExperts, mesh))
        dims.push_back(placement[axis].isShard() ? placement[axis].dim : -1);
      for (const std::string &member : parameter.getMemberNames())
        plan.tensors[member][name.str()] = placementText(dims);
    }
  }
}

} // namespace dtc
