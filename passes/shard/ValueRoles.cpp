// What the values of a step are to it.
#include "passes/shard/ValueRoles.h"

using namespace mlir;

namespace dtc {
namespace {

// Of one operand, elements moved or kept as they are: a view of a parameter is a parameter.
bool isView(Operation *op) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  return interface && op->getNumOperands() == 1 && interface.getRule().jointlyLinear;
}

// The op's operands that are terms of its result.
SmallVector<Value, 2> termsOf(Operation *op) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  SmallVector<Value, 2> terms;
  if (interface && op->getNumResults() == 1 && interface.getRule().jointlyLinear)
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(0).getType())
        terms.push_back(operand);
  return terms;
}

} // namespace

ValueRoles::ValueRoles(ModuleOp step) {
  followParameters(step);
  followGradients(step);
}

void ValueRoles::followParameters(ModuleOp step) {
  SmallVector<Value> found;
  auto add = [&](Value value) {
    if (parameters.insert(value).second)
      found.push_back(value);
  };
  step.walk([&](graph::GetOp get) {
    if (step.lookupSymbol<graph::ParameterOp>(get.getSymbol()))
      add(get.getResult());
  });
  while (!found.empty()) {
    Value value = found.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      if (auto call = dyn_cast<graph::CallOp>(use.getOwner()))
        add(step.lookupSymbol<graph::FuncOp>(call.getCallee()).getArgument(use.getOperandNumber()));
      else if (isView(use.getOwner()))
        add(use.getOwner()->getResult(0));
    }
  }
}

void ValueRoles::followGradients(ModuleOp step) {
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
    if (auto call = dyn_cast<graph::CallOp>(result.getOwner()))
      add(step.lookupSymbol<graph::FuncOp>(call.getCallee())
              .getBody()
              .front()
              .getTerminator()
              ->getOperand(result.getResultNumber()));
    llvm::for_each(termsOf(result.getOwner()), add);
  }
}

graph::CollectiveRole ValueRoles::of(Value value) const {
  if (gradients.contains(value))
    return graph::CollectiveRole::Gradient;
  if (parameters.contains(value))
    return graph::CollectiveRole::Parameter;
  auto interface = dyn_cast_or_null<graph::RuleOpInterface>(value.getDefiningOp());
  if (interface && !interface.getRule().capacityLoops.empty())
    return graph::CollectiveRole::Expert;
  auto func = cast<graph::FuncOp>(value.getParentBlock()->getParentOp());
  if (cast<RankedTensorType>(value.getType()).getRank() == 0 ||
      func.getSymName() == graph::kUpdateFunction)
    return graph::CollectiveRole::Control;
  return graph::CollectiveRole::Activation;
}

} // namespace dtc
