// Decides along which loops one op is split over the mesh, by the cost of moving its operands
// there.
#include "passes/shard/OpPlacement.h"

#include "passes/shard/OpSplit.h"
#include "passes/shard/Reshard.h"

using namespace mlir;

namespace dtc {
namespace {

// Work that a rank repeats because an axis is unused, in bytes that could have been sent instead.
// Devices do on the order of a hundred operations in the time of sending a byte, and stream ten
// bytes of memory.
constexpr double kFlopsPerByte = 100;
constexpr double kMemoryBytesPerByte = 10;

using split::kNone;
using split::kPartial;

class OpPlacer {
public:
  OpPlacer(Operation *op, const graph::OpRule &rule, ArrayRef<OperandState> operands,
           ArrayRef<std::optional<Placement>> hints, const Mesh &mesh,
           const PlacementPolicy &policy)
      : op(op), rule(rule), operands(operands), hints(hints), mesh(mesh), policy(policy) {
    decision.loops.assign(mesh.numAxes(), kNone);
    for (const OperandState &operand : operands)
      decision.operands.push_back(operand.free ? replicated(mesh) : operand.placement);
    decision.results.assign(op->getNumResults(), replicated(mesh));
  }

  OpDecision run() {
    for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
      chooseOn(axis);
    for (auto [operand, needed] : llvm::zip(operands, decision.operands))
      if (!operand.free)
        decision.communicationBytes +=
            reshardBytes(operand.global, operand.placement, needed, mesh);
    return std::move(decision);
  }

private:
  // Step 1.
  SmallVector<int> candidatesOn(unsigned axis) const {
    SmallVector<int> candidates{kNone};
    auto add = [&](int candidate) {
      if (!llvm::is_contained(candidates, candidate) && isLegal(axis, candidate))
        candidates.push_back(candidate);
    };
    for (auto [index, operand] : llvm::enumerate(operands)) {
      const AxisPlacement &now = operand.placement[axis];
      if (operand.free)
        continue;
      if (now.isShard())
        add(loopOf(rule.operands[index], now.dim));
      if (now.isPartial())
        add(kPartial);
      if (now.isPartial() && policy.sequenceParallel && static_cast<int>(axis) != policy.dataAxis &&
          operand.global.getRank() >= 3)
        add(loopOf(rule.operands[index], 1));
    }
    for (auto [index, hint] : llvm::enumerate(hints))
      if (hint && (*hint)[axis].isShard())
        add(loopOf(rule.results[index], (*hint)[axis].dim));
    return candidates;
  }

  // The loop that splitting `dim` splits, or kNone.
  static int loopOf(const graph::TensorLoops &tensor, int64_t dim) {
    if (dim >= static_cast<int64_t>(tensor.size()) || tensor[dim].empty())
      return kNone;
    return tensor[dim].front();
  }

  bool isLegal(unsigned axis, int candidate) const {
    if (candidate == kNone)
      return true;
    if (candidate == kPartial)
      return canStayPartial(axis);
    return !llvm::is_contained(decision.loops, candidate) &&
           canSplitLoop(rule, candidate, mesh.sizes[axis]);
  }

  // Sum commutes with the op when every operand is partial, or is a scalar that can be split
  // evenly.
  bool canStayPartial(unsigned axis) const {
    if (!rule.jointlyLinear)
      return false;
    for (const OperandState &operand : operands) {
      const AxisPlacement &now = operand.placement[axis];
      bool splits = now.isReplicate() && operand.global.getRank() == 0;
      if (!splits && !(now.isPartial() && now.reduce == graph::ReduceKind::Sum))
        return false;
    }
    return true;
  }

  // Step 2.
  std::optional<int> forcedOn(unsigned axis, ArrayRef<int> candidates) const {
    for (auto [index, operand] : llvm::enumerate(operands)) {
      if (operand.free || !operand.placement[axis].isShard())
        continue;
      bool binds = operand.weight || static_cast<int>(axis) == policy.dataAxis;
      int loop = loopOf(rule.operands[index], operand.placement[axis].dim);
      if (binds && loop >= 0 && llvm::is_contained(candidates, loop))
        return loop;
    }
    // A gradient is made where its parameter lives, so that no rank holds more of it than of the
    // parameter.
    for (auto [index, hint] : llvm::enumerate(hints)) {
      if (!hint || !(*hint)[axis].isShard())
        continue;
      int loop = loopOf(rule.results[index], (*hint)[axis].dim);
      if (loop >= 0 && llvm::is_contained(candidates, loop))
        return loop;
    }
    if (llvm::is_contained(candidates, kPartial) &&
        (static_cast<int>(axis) == policy.dataAxis || op->getResult(0).getType() == scalarType()))
      return kPartial;
    return std::nullopt;
  }

  Type scalarType() const { return RankedTensorType::get({}, Float32Type::get(op->getContext())); }

  std::optional<int> toldOn(unsigned axis) const {
    auto attr = op->getAttrOfType<IntegerAttr>(kSplitAttr);
    if (!attr || static_cast<int>(axis) != policy.weightAxis)
      return std::nullopt;
    return static_cast<int>(attr.getInt());
  }

  int choiceOn(unsigned axis) const {
    SmallVector<int> candidates = candidatesOn(axis);
    if (std::optional<int> forced = forcedOn(axis, candidates))
      return *forced;
    // Step 3.
    int best = kNone;
    double bestCost = 0;
    bool first = true;
    for (int candidate : candidates) {
      double cost = costOf(axis, candidate) + finishingCostOf(axis, candidate);
      if (first || cost < bestCost) {
        best = candidate;
        bestCost = cost;
      }
      first = false;
    }
    return best;
  }

  void chooseOn(unsigned axis) {
    if (mesh.sizes[axis] == 1)
      return;
    std::optional<int> told = toldOn(axis);
    int best = told ? *told : choiceOn(axis);
    decision.cost += costOf(axis, best);
    decision.loops[axis] = best >= 0 ? best : kNone;
    for (auto [index, operand] : llvm::enumerate(operands))
      decision.operands[index][axis] = operandUnder(rule, index, best);
    for (unsigned result = 0; result < op->getNumResults(); ++result)
      decision.results[result][axis] = resultUnder(rule, result, best);
  }

  double costOf(unsigned axis, int candidate) const {
    double cost = 0;
    for (auto [index, operand] : llvm::enumerate(operands)) {
      if (operand.free)
        continue;
      Placement to = operand.placement;
      to[axis] = operandUnder(rule, index, candidate);
      cost += reshardBytes(operand.global, operand.placement, to, mesh);
    }
    if (candidate < 0)
      cost += repeatedWork(axis);
    return cost;
  }

  // What bringing the results to where they are wanted will cost their users.
  double finishingCostOf(unsigned axis, int candidate) const {
    double cost = 0;
    for (auto [index, value] : llvm::enumerate(op->getResults())) {
      auto global = cast<RankedTensorType>(value.getType());
      Placement from = decision.results[index];
      from[axis] = resultUnder(rule, index, candidate);
      Placement to = from;
      if (hints[index])
        to[axis] = (*hints[index])[axis];
      else if (from[axis].isPartial())
        to[axis] = AxisPlacement::replicate();
      // A hint of partial, or a sum that gradients defer to the end of the step, costs nothing now.
      if (!to[axis].isPartial())
        cost += reshardBytes(global, from, to, mesh);
    }
    return cost;
  }

  double repeatedWork(unsigned axis) const {
    double points = 1, bytes = 0;
    for (const graph::Loop &loop : rule.loops)
      points *= ShapedType::isDynamic(loop.size) ? 1 : loop.size;
    for (auto [index, value] : llvm::enumerate(op->getResults()))
      bytes += localBytes(cast<RankedTensorType>(value.getType()), decision.results[index], mesh);
    double share = 1 - 1.0 / mesh.sizes[axis];
    for (auto [other, loop] : llvm::enumerate(decision.loops))
      if (loop >= 0)
        points /= mesh.sizes[other];
    double flops = rule.matrixProduct ? rule.flopsPerPoint * points / kFlopsPerByte : 0;
    return share * (flops + bytes / kMemoryBytesPerByte);
  }

  Operation *op;
  const graph::OpRule &rule;
  ArrayRef<OperandState> operands;
  ArrayRef<std::optional<Placement>> hints;
  const Mesh &mesh;
  const PlacementPolicy &policy;
  OpDecision decision;
};

} // namespace

OpDecision placeOp(Operation *op, const graph::OpRule &rule, ArrayRef<OperandState> operands,
                   ArrayRef<std::optional<Placement>> hints, const Mesh &mesh,
                   const PlacementPolicy &policy) {
  return OpPlacer(op, rule, operands, hints, mesh, policy).run();
}

} // namespace dtc
