// Finds and drops the observations of a model's state.
#include "passes/graph/Observations.h"

#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc {

SmallVector<Value> observedValues(graph::FuncOp func) {
  SmallVector<Value> found;
  auto module = func->getParentOfType<ModuleOp>();
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (auto observe = dyn_cast<graph::ObserveOp>(op))
      found.push_back(observe.getState());
    auto call = dyn_cast<graph::BlockCallOpInterface>(op);
    if (!call)
      continue;
    auto block = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    for (Value value : observedValues(block))
      if (auto argument = dyn_cast<BlockArgument>(value))
        found.push_back(call->getOperand(argument.getArgNumber()));
  }
  return found;
}

FailureOr<llvm::StringSet<>> observedParameters(ModuleOp module) {
  llvm::StringSet<> names;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return names;
  for (Value value : observedValues(loss)) {
    auto get = value.getDefiningOp<graph::GetOp>();
    auto parameter = get ? module.lookupSymbol<graph::ParameterOp>(get.getSymbol()) : nullptr;
    if (!parameter || !parameter.getFrozen())
      return emitError(value.getLoc()) << "is observed, so that it has to be a parameter that is "
                                          "'frozen': gradients don't change it";
    if (!names.insert(parameter.getSymName()).second)
      return parameter.emitError("'")
             << parameter.getSymName()
             << "' is observed twice; a step gives a state one next value, so that an op that "
                "keeps state stands in one place";
  }
  return names;
}

void dropObservations(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<graph::ObserveOp, graph::DetachOp>(op))
      return;
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  });
}

} // namespace dtc
