// The placements of the optimizer's step.
#include "compiler/placement/PlaceUpdate.h"

#include "passes/shard/FunctionPartitioner.h"
#include "passes/shard/Partition.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace dtc {
namespace {

class UpdatePlacer {
public:
  UpdatePlacer(ModuleOp step, const Mesh &mesh) : step(step), mesh(mesh) {}

  LogicalResult run() {
    auto update = step.lookupSymbol<graph::FuncOp>(graph::kUpdateFunction);
    if (failed(placeArguments(update)))
      return failure();
    for (Operation &op : update.getBody().front().without_terminator())
      place(op);
    graph::PlacementAttr whole = toAttr(step.getContext(), replicated(mesh));
    for (unsigned index = 0; index < update.getNumResults(); ++index)
      update.setResultAttr(index, kPlacementAttr, whole);
    return success();
  }

private:
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
          parameter ? gradientRequest(step, parameter.getValue(), mesh) : replicated(mesh);
    }
    return success();
  }

  void place(Operation &op) {
    auto interface = dyn_cast<graph::RuleOpInterface>(op);
    if (auto get = dyn_cast<graph::GetOp>(op))
      placements[get.getResult()] = placementOfSymbol(step, get.getSymbol(), mesh);
    else if (interface)
      placeByRule(op, interface.getRule());
    else
      for (Value result : op.getResults())
        placements[result] = replicated(mesh);
  }

  void placeByRule(Operation &op, const graph::OpRule &rule) {
    OpSplit split;
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      split.push_back(choiceOn(axis, op, rule, split));
    setSplit(&op, split);
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      placements[result] = resultUnder(rule, index, split);
  }

  // The loop along which an operand is split, else "partial" where sums are only added.
  int choiceOn(unsigned axis, Operation &op, const graph::OpRule &rule, ArrayRef<int> taken) const {
    if (mesh.sizes[axis] == 1)
      return split::kNone;
    bool hasSum = false, mayStaySum = rule.jointlyLinear;
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      const AxisPlacement &now = placements.find(operand)->second[axis];
      int loop = now.isShard() ? loopOfDim(rule.operands[index], now.dim) : split::kNone;
      OpSplit split(taken);
      split.push_back(loop);
      if (loop >= 0 && canSplit(rule, split, ArrayRef<int64_t>(mesh.sizes).take_front(axis + 1)))
        return loop;
      bool isSum = now.isPartial() && now.reduce == graph::ReduceKind::Sum;
      bool isScalar = cast<RankedTensorType>(operand.getType()).getRank() == 0;
      hasSum |= isSum;
      mayStaySum &= isSum || (now.isReplicate() && isScalar);
    }
    return hasSum && mayStaySum ? split::kPartial : split::kNone;
  }

  ModuleOp step;
  const Mesh &mesh;
  llvm::DenseMap<Value, Placement> placements;
};

} // namespace

LogicalResult placeUpdate(ModuleOp step, const Mesh &mesh) {
  return UpdatePlacer(step, mesh).run();
}

} // namespace dtc
