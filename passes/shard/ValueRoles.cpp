// Finds the role of each value in the step.
#include "passes/shard/ValueRoles.h"

#include "dialects/graph/CompressionAttributes.h"

using namespace mlir;

namespace dtc {
namespace {

// True for ops that only move elements: a value made of parameters alone by such ops counts as a
// parameter.
bool isMove(Operation *op) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  return interface && interface.getRule().onlyMoves();
}

// Returns the op's operands that are terms of its result.
SmallVector<Value, 2> termsOf(Operation *op) {
  SmallVector<Value, 2> terms;
  if (auto interface = dyn_cast<graph::RuleOpInterface>(op)) {
    graph::OpRule rule = interface.getRule();
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (rule.isTerm(index))
        terms.push_back(operand);
  }
  return terms;
}

} // namespace

ValueRoles::ValueRoles(ModuleOp step) {
  followParameters(step);
  followGradients(step);
  followUpdate(step);
}

void ValueRoles::followParameters(ModuleOp step) {
  SymbolTable symbols(step); // the module's own look-up goes through all of its symbols
  SmallVector<Value> found;
  auto add = [&](Value value) {
    if (parameters.insert(value).second)
      found.push_back(value);
  };
  step.walk([&](graph::GetOp get) {
    if (symbols.lookup<graph::ParameterOp>(get.getSymbol()))
      add(get.getResult());
  });
  while (!found.empty()) {
    Value value = found.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      if (auto call = dyn_cast<graph::BlockCallOpInterface>(use.getOwner()))
        add(symbols.lookup<graph::FuncOp>(call.getBlockName()).getArgument(use.getOperandNumber()));
      else if (isMove(use.getOwner()) &&
               llvm::all_of(use.getOwner()->getOperands(),
                            [&](Value operand) { return parameters.contains(operand); }))
        add(use.getOwner()->getResult(0));
    }
  }
}

void ValueRoles::followGradients(ModuleOp step) {
  SymbolTable symbols(step);
  SmallVector<Value> found;
  auto add = [&](Value value) {
    if (gradients.insert(value).second)
      found.push_back(value);
  };
  for (auto func : step.getOps<graph::FuncOp>()) {
    for (BlockArgument argument : func.getArguments())
      if (func.getArgAttr(argument.getArgNumber(), graph::kGradientOfAttr))
        gradients.insert(argument);
    for (unsigned index = 0; index < func.getNumResults(); ++index)
      if (func.getResultAttr(index, graph::kGradientOfAttr))
        add(func.getBody().front().getTerminator()->getOperand(index));
  }
  while (!found.empty()) {
    auto result = dyn_cast<OpResult>(found.pop_back_val());
    if (!result)
      continue;
    if (auto call = dyn_cast<graph::BlockCallOpInterface>(result.getOwner()))
      add(symbols.lookup<graph::FuncOp>(call.getBlockName())
              .getBody()
              .front()
              .getTerminator()
              ->getOperand(result.getResultNumber()));
    llvm::for_each(termsOf(result.getOwner()), add);
  }
}

// Follows the blocks of '@update': gradients enter them, and new parameters leave.
void ValueRoles::followUpdate(ModuleOp step) {
  SymbolTable symbols(step);
  auto update = symbols.lookup<graph::FuncOp>(graph::kUpdateFunction);
  if (!update)
    return;
  ofUpdate.insert(update);
  for (auto call : update.getBody().getOps<graph::BlockCallOpInterface>()) {
    auto block = symbols.lookup<graph::FuncOp>(call.getBlockName());
    ofUpdate.insert(block);
    for (auto [operand, argument] : llvm::zip(call->getOperands(), block.getArguments()))
      if (gradients.contains(operand))
        gradients.insert(argument);
    Operation *end = block.getBody().front().getTerminator();
    for (auto [result, value] : llvm::zip(call->getResults(), end->getOperands()))
      if (llvm::any_of(result.getUsers(), [](Operation *user) { return isa<graph::SetOp>(user); }))
        parameters.insert(value);
  }
}

graph::CollectiveRole ValueRoles::of(Value value) const {
  Operation *made = value.getDefiningOp();
  if (gradients.contains(value) || (made && made->hasAttr(graph::kExchangedAttr)))
    return graph::CollectiveRole::Gradient;
  if (parameters.contains(value))
    return graph::CollectiveRole::Parameter;
  auto interface = dyn_cast_or_null<graph::RuleOpInterface>(value.getDefiningOp());
  if (interface && !interface.getRule().capacityLoops.empty())
    return graph::CollectiveRole::Expert;
  if (graph::tensorOf(value.getType()).getRank() == 0 ||
      ofUpdate.contains(value.getParentBlock()->getParentOp()))
    return graph::CollectiveRole::Control;
  return graph::CollectiveRole::Activation;
}

} // namespace dtc
