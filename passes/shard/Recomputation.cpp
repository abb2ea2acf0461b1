// Selects the ops of a block's forward pass that backward recomputes.
#include "passes/shard/Recomputation.h"

#include "dialects/graph/Views.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace dtc {
namespace {

// True for ops that are not recomputed. Matrix products take long, collectives wait for other
// ranks, and blocks have both. Dispatch and combine are collectives if experts are spread over
// ranks. Matrix products of experts lie between dispatch and combine, whose results stay saved;
// those with a layer's own weights lie between collectives, which are recomputed with them. Both
// kinds recompute the gathers of their weights.
bool isCostly(Operation *op, Recompute recompute) {
  if (recompute == Recompute::Full)
    return false;
  RecomputeGroups groups = recomputedGroups(recompute);
  if (graph::isCollective(op)) {
    auto communication = op->getAttrOfType<graph::CommunicationAttr>(graph::kCommunicationAttr);
    bool isOfParameter =
        communication && communication.getRole() == graph::CollectiveRole::Parameter;
    return !groups.linear && !(groups.experts && isOfParameter);
  }
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

class Selector {
public:
  Selector(const llvm::SetVector<Value> &kept, Recompute recompute,
           llvm::function_ref<bool(Operation *)> isInside)
      : kept(kept), recompute(recompute), isInside(isInside) {}

  Recomputation run() {
    for (Value value : kept)
      if (isCheap(value)) {
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
    bool is = !isCostly(op, recompute) && llvm::all_of(op->getOperands(), [&](Value operand) {
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
  Recompute recompute;
  llvm::function_ref<bool(Operation *)> isInside;
  llvm::DenseMap<Operation *, bool> cheap;
  Recomputation result;
};

} // namespace

Recomputation selectRecomputation(const llvm::SetVector<Value> &kept, Recompute recompute,
                                  llvm::function_ref<bool(Operation *)> isInside) {
  return Selector(kept, recompute, isInside).run();
}

} // namespace dtc
