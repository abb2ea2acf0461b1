// Selects the ops of a block's forward pass that backward recomputes.
#include "passes/shard/Recomputation.h"

#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/Views.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace dtc {
namespace {

bool isOfParameter(Operation *collective) {
  auto communication =
      collective->getAttrOfType<graph::CommunicationAttr>(graph::kCommunicationAttr);
  return communication && communication.getRole() == graph::CollectiveRole::Parameter;
}

// True for ops that are not recomputed. Matrix products take long, collectives wait for other
// ranks, and blocks have both. Dispatch and combine are collectives if experts are spread over
// ranks. Matrix products of experts lie between dispatch and combine, whose results stay saved;
// those with a layer's own weights lie between collectives, which are recomputed with them. Both
// kinds recompute the gathers of their weights.
bool isCostly(Operation *op, Recompute recompute) {
  // The numbers of rows of a round are few, and dtrun counts rows by the products that read them.
  if (isa<graph::RoundCountsOp>(op))
    return true;
  if (recompute == Recompute::Full)
    return false;
  RecomputeGroups groups = recomputedGroups(recompute);
  if (graph::isCollective(op))
    return !groups.linear && !(groups.experts && isOfParameter(op));
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface)
    return isa<graph::BlockCallOpInterface>(op);
  graph::OpRule rule = interface.getRule();
  if (rule.kind == graph::OpKind::Attention)
    return !groups.attention;
  if (rule.kind == graph::OpKind::Dispatch)
    return true;
  bool isOfExperts = !rule.expertLoops.empty();
  return rule.kind == graph::OpKind::Product && !(isOfExperts ? groups.experts : groups.linear);
}

// The ops between the packing and the unpacking of rounds behind the first.
class LaterRounds {
public:
  bool contains(Operation *op) {
    auto [known, isNew] = ops.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool is = !isa<graph::UnpackRowsOp, graph::UnpackWeightGradOp>(op) &&
              llvm::any_of(op->getOperands(), [&](Value operand) {
                Operation *maker = graph::rootOf(operand).getDefiningOp();
                return maker && (begins(maker) || contains(maker));
              });
    return ops[op] = is;
  }

  // Returns true for ops that say which rows are of a round behind the first.
  static bool begins(Operation *op) {
    if (auto rows = dyn_cast<graph::RoundRowsOp>(op))
      return rows.getRound() > 0;
    auto counts = dyn_cast<graph::RoundCountsOp>(op);
    return counts && counts.getRound() > 0;
  }

private:
  llvm::DenseMap<Operation *, bool> ops;
};

class Selector {
public:
  Selector(const llvm::SetVector<Value> &kept, llvm::function_ref<bool(Operation *)> isCostly,
           llvm::function_ref<bool(Operation *)> isInside)
      : kept(kept), isCostly(isCostly), isInside(isInside) {}

  // Selects among the kept values that `mayGo` holds for.
  Recomputation run(llvm::function_ref<bool(Value)> mayGo) {
    for (Value value : kept)
      if (mayGo(value) && isCheap(value)) {
        result.dropped.insert(value);
        makeAgain(value);
      }
    return std::move(result);
  }

private:
  Operation *maker(Value value) const {
    Operation *op = graph::rootOf(value).getDefiningOp();
    return op && isInside(op) ? op : nullptr;
  }

  // True if the value can be computed from values that are available anyway and from saved values
  // that are not cheap.
  bool isCheap(Value value) {
    Operation *op = maker(value);
    if (!op)
      return true;
    auto [known, isNew] = cheap.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool is = !isCostly(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
      return isCheap(operand) || kept.contains(graph::rootOf(operand));
    });
    return cheap[op] = is;
  }

  void makeAgain(Value value) {
    Operation *op = maker(value);
    if (!op || result.again.contains(op))
      return;
    for (Value operand : op->getOperands())
      if (isCheap(operand))
        makeAgain(operand);
    result.again.insert(op);
  }

  const llvm::SetVector<Value> &kept;
  llvm::function_ref<bool(Operation *)> isCostly;
  llvm::function_ref<bool(Operation *)> isInside;
  llvm::DenseMap<Operation *, bool> cheap;
  Recomputation result;
};

} // namespace

Recomputation selectRecomputation(const llvm::SetVector<Value> &kept, Recompute recompute,
                                  llvm::function_ref<bool(Operation *)> isInside) {
  auto isCostlyNow = [&](Operation *op) { return isCostly(op, recompute); };
  return Selector(kept, isCostlyNow, isInside).run([](Value) { return true; });
}

Recomputation selectLaterRounds(const llvm::SetVector<Value> &kept,
                                llvm::function_ref<bool(Operation *)> isInside) {
  LaterRounds later;
  // Rounds read tokens and weights that ranks gather, and constants.
  auto isCostlyNow = [&](Operation *op) {
    bool isGathered = isa<shard::AllGatherOp>(op) || (graph::isCollective(op) && isOfParameter(op));
    return op->getNumOperands() > 0 && !isGathered && !later.contains(op);
  };
  return Selector(kept, isCostlyNow, isInside).run([&](Value value) {
    Operation *op = graph::rootOf(value).getDefiningOp();
    return op && later.contains(op);
  });
}

bool hasLaterRounds(graph::FuncOp func) {
  return llvm::any_of(func.getBody().getOps<graph::RoundRowsOp>(),
                      [](graph::RoundRowsOp op) { return LaterRounds::begins(op); });
}

} // namespace dtc
