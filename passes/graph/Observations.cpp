// Finds and drops the observations of a model's state.
#include "passes/graph/Observations.h"

#include "dialects/graph/RouteOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/StateOps.h"

using namespace mlir;

namespace dtc {

SmallVector<ParameterUse> usesOf(graph::FuncOp func,
                                 llvm::function_ref<SmallVector<Value>(Operation &)> choose) {
  SmallVector<ParameterUse> found;
  auto module = func->getParentOfType<ModuleOp>();
  for (Operation &op : func.getBody().front().without_terminator()) {
    for (Value value : choose(op))
      found.push_back({value, &op});
    auto call = dyn_cast<graph::BlockCallOpInterface>(op);
    if (!call)
      continue;
    auto block = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
    for (ParameterUse use : usesOf(block, choose))
      if (auto argument = dyn_cast<BlockArgument>(use.value))
        found.push_back({call->getOperand(argument.getArgNumber()), use.user});
  }
  return found;
}

// Returns the state that an op observes, if it does.
static SmallVector<Value> stateOf(Operation &op) {
  if (auto observe = dyn_cast<graph::ObserveOp>(op))
    return {observe.getState()};
  return {};
}

llvm::StringSet<> wideParameters(ModuleOp module) {
  llvm::StringSet<> names;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return names;
  auto operandsOf = [](Operation &op) -> SmallVector<Value> {
    auto route = dyn_cast<graph::RouteTokensOp>(op);
    if (route && route.getBias())
      return {route.getBias()};
    return op.hasAttr(graph::kWideAttr) ? SmallVector<Value>(op.getOperands())
                                        : SmallVector<Value>();
  };
  for (ParameterUse use : usesOf(loss, operandsOf))
    if (auto get = use.value.getDefiningOp<graph::GetOp>())
      names.insert(get.getSymbol());
  return names;
}

void noteRates(ModuleOp module) {
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  for (ParameterUse use : usesOf(loss, stateOf))
    if (FloatAttr rate = cast<graph::ObserveOp>(use.user).getRateAttr())
      module.lookupSymbol(use.value.getDefiningOp<graph::GetOp>().getSymbol())
          ->setAttr(graph::kRateAttr, rate);
}

FailureOr<llvm::StringSet<>> observedParameters(ModuleOp module) {
  llvm::StringSet<> names;
  auto loss = module.lookupSymbol<graph::FuncOp>(graph::kLossFunction);
  if (!loss)
    return names;
  for (auto [value, user] : usesOf(loss, stateOf)) {
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
