// Finds the values of a micro-batch that are addends of its returned sums.
#include "passes/schedule/Addends.h"
#include "dialects/graph/ElementwiseOps.h"

using namespace mlir;
using namespace dtc;

namespace {
// Returns the arguments that a kernel adds up, with repetition; empty if it computes anything else.
SmallVector<BlockArgument> getAddedArguments(graph::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *terminator = body.getTerminator();
  if (terminator->getNumOperands() != 1)
    return {};
  Type type = terminator->getOperand(0).getType();
  SmallVector<BlockArgument> added;
  SmallVector<Value> left{terminator->getOperand(0)};
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (value.getType() != type)
      return {};
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      added.push_back(argument);
      continue;
    }
    auto add = value.getDefiningOp<graph::AddOp>();
    if (!add)
      return {};
    left.append({add.getRhs(), add.getLhs()});
  }
  return added;
}
} // namespace

Addends::Addends(graph::FuncOp function) : symbols(function->getParentOfType<ModuleOp>()) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [result, value] : llvm::enumerate(terminator->getOperands()))
    expand(value, result);
}

llvm::ArrayRef<unsigned> Addends::getResults(Value value) const {
  auto found = results.find(value);
  return found == results.end() ? llvm::ArrayRef<unsigned>() : found->second;
}

void Addends::expand(Value value, unsigned result) {
  auto call = value.getDefiningOp<graph::CallOp>();
  if (call && value.hasOneUse() && call->getNumResults() == 1) {
    auto kernel = symbols.lookup<graph::FuncOp>(call.getCallee());
    if (kernel && kernel.getKernel()) {
      SmallVector<BlockArgument> added = getAddedArguments(kernel);
      for (BlockArgument argument : added)
        expand(call.getOperands()[argument.getArgNumber()], result);
      if (!added.empty()) {
        absorbed.insert(call);
        return;
      }
    }
  }
  results[value].push_back(result);
}
