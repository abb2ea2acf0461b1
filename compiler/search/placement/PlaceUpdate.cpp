// The placements of the optimizer's step.
#include "compiler/search/placement/PlaceUpdate.h"

#include "dialects/graph/StepWeights.h"
#include "passes/shard/FunctionPartitioner.h"
#include "passes/shard/Partition.h"
#include "passes/shard/StepMesh.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dtc {
namespace {

class UpdatePlacer {
public:
  UpdatePlacer(ModuleOp step, const Mesh &mesh) : step(step), stored(step), mesh(mesh) {}

  LogicalResult run() {
    auto update = step.lookupSymbol<graph::FuncOp>(graph::kUpdateFunction);
    if (failed(placeArguments(update)))
      return failure();
    placeBody(update);
    setResults(update, std::vector<Placement>(update.getNumResults(), replicated(mesh)));
    auto prepare = step.lookupSymbol<graph::FuncOp>(graph::kPrepareFunction);
    if (prepare && !mesh.axesOf(AxisRole::Context).empty())
      return prepare.emitError("divides a part of the loss by a sum over the whole step, which dtc "
                               "can't compile with cp yet; plan with --fix cp=1");
    if (prepare)
      placePrepare(prepare);
    return success();
  }

private:
  // Each rank of data parallelism has the inputs of its own samples, as in '@microbatch'.
  void placePrepare(graph::FuncOp prepare) {
    for (BlockArgument argument : prepare.getArguments()) {
      Placement placement = replicated(mesh);
      for (unsigned axis : axesOfSamples(mesh))
        if (mesh.sizes[axis] > 1)
          placement[axis] = AxisPlacement::shard(0);
      placements[argument] = placement;
      prepare.setArgAttr(argument.getArgNumber(), kPlacementAttr,
                         toAttr(step.getContext(), placement));
    }
    placeBody(prepare);
  }

  LogicalResult placeArguments(graph::FuncOp update) {
    auto microbatch = step.lookupSymbol<graph::FuncOp>(graph::kMicrobatchFunction);
    llvm::StringMap<Attribute> crossings;
    for (unsigned index = 0; index < microbatch.getNumResults(); ++index)
      crossings[crossingName(microbatch.getResultAttrDict(index))] =
          microbatch.getResultAttr(index, kPlacementAttr);
    for (BlockArgument argument : update.getArguments()) {
      unsigned index = argument.getArgNumber();
      DictionaryAttr attrs = update.getArgAttrDict(index);
      std::string name = crossingName(attrs);
      Attribute placement = crossings.lookup(name);
      if (name.empty() || !placement)
        return update.emitOpError("has argument ")
               << index << ", which is not a gradient or sum that '@microbatch' returns";
      update.setArgAttr(index, kPlacementAttr, placement);
      auto parameter = attrs.getAs<FlatSymbolRefAttr>(graph::kGradientOfAttr);
      placements[argument] =
          parameter ? gradientRequest(stored, parameter.getValue(), mesh) : replicated(mesh);
    }
    return success();
  }

  // A copy: adding another moves them.
  Placement placementOf(Value value) const { return placements.find(value)->second; }

  void placeBody(graph::FuncOp func) {
    for (Operation &op : func.getBody().front().without_terminator())
      place(op);
  }

  void setResults(graph::FuncOp func, ArrayRef<Placement> list) {
    for (auto [index, placement] : llvm::enumerate(list))
      func.setResultAttr(index, kPlacementAttr, toAttr(step.getContext(), placement));
  }

  // A block takes its arguments where they are. A sum that it carries stays unfinished from one
  // execution to the next: where it would become so, it comes in so. New parameters and state leave
  // as they rest.
  void placeCall(graph::BlockCallOpInterface call) {
    auto block = step.lookupSymbol<graph::FuncOp>(call.getBlockName());
    for (auto [operand, argument] : llvm::zip(call->getOperands(), block.getArguments()))
      placements[argument] = placementOf(operand);
    Operation *end = block.getBody().front().getTerminator();
    auto carried = [&](ValueRange values) {
      return values.take_front(static_cast<size_t>(call.getNumCarried()));
    };
    bool isStable = false;
    for (size_t round = 0; !isStable; ++round) {
      assert(round <= mesh.numAxes() + 1 && "each round leaves a sum unfinished on one axis more");
      placeBody(block);
      isStable = true;
      for (auto [argument, value] :
           llvm::zip(carried(block.getArguments()), carried(end->getOperands())))
        if (placementOf(argument) != placementOf(value)) {
          isStable = false;
          placements[argument] = placementOf(value);
        }
    }
    std::vector<Placement> leaving;
    for (auto [value, result] : llvm::zip(end->getOperands(), call->getResults())) {
      Placement placement = placementOf(value);
      for (Operation *user : result.getUsers())
        if (auto set = dyn_cast<graph::SetOp>(user))
          placement = placementOfSymbol(stored, set.getSymbol(), mesh);
      leaving.push_back(placement);
      placements[result] = placement;
    }
    for (BlockArgument argument : block.getArguments())
      block.setArgAttr(argument.getArgNumber(), kPlacementAttr,
                       toAttr(step.getContext(), placementOf(argument)));
    setResults(block, leaving);
  }

  void place(Operation &op) {
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
      return placeCall(call);
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (auto get = dyn_cast<graph::GetOp>(op))
      placements[get.getResult()] = placementOfSymbol(stored, get.getSymbol(), mesh);
    else if (interface)
      placeByRule(op, interface.getRule());
    else
      for (Value result : op.getResults())
        placements[result] = replicated(mesh);
  }

  void placeByRule(Operation &op, const graph::OpRule &rule) {
    OpSplit split;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      split.push_back(
          followOperands(&op, rule, ArrayRef<int64_t>(mesh.sizes).take_front(axis + 1), split,
                         [&](Value operand) { return placements.find(operand)->second[axis]; }));
    setSplit(&op, split);
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      placements[result] = resultUnder(rule, index, split);
  }

  ModuleOp step;
  Stored stored;
  const Mesh &mesh;
  llvm::DenseMap<Value, Placement> placements;
};

} // namespace

LogicalResult placeUpdate(ModuleOp step, const Mesh &mesh) {
  return UpdatePlacer(step, mesh).run();
}

} // namespace dtc
