// Follows the integers of an input to the ops that use them as indices.
#include "passes/graph/InputLimits.h"

using namespace mlir;

namespace dtc {
namespace {

class LimitFinder {
public:
  explicit LimitFinder(ModuleOp module) : module(module) {}

  InputLimit find(Value value) {
    follow(value);
    if (!allIgnore)
      limit.ignored.reset();
    return limit;
  }

private:
  void follow(Value value) {
    if (!seen.insert(value).second)
      return;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto call = dyn_cast<graph::BlockCallOpInterface>(user))
        follow(module.lookupSymbol<graph::FuncOp>(call.getBlockName())
                   .getArgument(use.getOperandNumber()));
      else if (auto index = dyn_cast<graph::IndexOpInterface>(user))
        add(index.getIndexLimit(use.getOperandNumber()), index.getIgnoredIndex());
      else
        for (Value result : user->getResults())
          if (isa<IntegerType>(getElementTypeOrSelf(result)))
            follow(result);
    }
  }

  void add(int64_t below, std::optional<int64_t> ignored) {
    if (below == 0)
      return;
    allIgnore = allIgnore && ignored && (limit.below == 0 || limit.ignored == ignored);
    limit.ignored = ignored;
    limit.below = limit.below == 0 ? below : std::min(limit.below, below);
  }

  ModuleOp module;
  DenseSet<Value> seen;
  InputLimit limit;
  bool allIgnore = true;
};

} // namespace

InputLimit findInputLimit(graph::FuncOp func, unsigned argument) {
  return LimitFinder(func->getParentOfType<ModuleOp>()).find(func.getArgument(argument));
}

} // namespace dtc
