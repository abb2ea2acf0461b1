// What of a block's forward pass recomputation runs again.
#include "passes/shard/Recomputation.h"

#include "dialects/graph/Views.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace dtc {
namespace {

// Products take long, collectives wait for others, and what is in a block of its own has both.
bool isCostly(Operation *op) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  return graph::isCollective(op) || isa<graph::BlockCallOpInterface>(op) ||
         (interface && interface.getRule().multiplies());
}

class Selector {
public:
  Selector(const llvm::SetVector<Value> &kept, llvm::function_ref<bool(Operation *)> isInside)
      : kept(kept), isInside(isInside) {}

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

  // Whether the value can be had of what is there anyway and of kept values that are not cheap.
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
  llvm::function_ref<bool(Operation *)> isInside;
  llvm::DenseMap<Operation *, bool> cheap;
  Recomputation result;
};

} // namespace

Recomputation selectRecomputation(const llvm::SetVector<Value> &kept,
                                  llvm::function_ref<bool(Operation *)> isInside) {
  return Selector(kept, isInside).run();
}

} // namespace dtc
