// Joins the parameters that are passed to the same argument of a block.
#include "compiler/search/placement/WeightClasses.h"

using namespace mlir;

namespace dtc {

WeightClasses::WeightClasses(ModuleOp step) {
  for (auto parameter : step.getOps<graph::ParameterOp>()) {
    joined.insert(parameter.getOperation());
    parameters[parameter.getSymName()] = parameter;
  }
  // An argument that turns out to be no weight may be passed on to others.
  while (joinCalls(step)) {
  }
  number(step);
  findProducts(step);
}

// Joins the classes of calls' operands and arguments. Returns true if further values turned out to
// be no weights.
bool WeightClasses::joinCalls(ModuleOp step) {
  size_t before = others.size();
  step.walk([&](graph::BlockCallOpInterface call) {
    auto callee = step.lookupSymbol<graph::FuncOp>(call.getBlockName());
    for (auto [argument, operand] : llvm::zip(callee.getArguments(), call->getOperands())) {
      const void *source = nullptr;
      if (auto get = operand.getDefiningOp<graph::GetOp>())
        source = parameters.lookup(get.getSymbol());
      else if (!others.contains(operand) && joined.contains(operand.getAsOpaquePointer()))
        source = operand.getAsOpaquePointer();
      if (source && !others.contains(argument))
        joined.unionSets(source, argument.getAsOpaquePointer());
      else if (!source)
        others.insert(argument);
    }
  });
  return others.size() > before;
}

void WeightClasses::number(ModuleOp step) {
  llvm::DenseMap<const void *, unsigned> leaders;
  for (auto parameter : step.getOps<graph::ParameterOp>()) {
    auto [it, isNew] =
        leaders.try_emplace(joined.getLeaderValue(parameter.getOperation()), classes.size());
    if (isNew)
      classes.push_back({{}, cast<RankedTensorType>(parameter.getType())});
    classes[it->second].parameters.push_back(parameter);
  }
  for (const auto *entry : joined)
    if (auto it = leaders.find(joined.getLeaderValue(entry->getData())); it != leaders.end())
      numbers[entry->getData()] = it->second;
}

void WeightClasses::findProducts(ModuleOp step) {
  step.walk([&](graph::RuleOpInterface op) {
    graph::OpRule rule = op.getRule();
    if (!rule.multiplies())
      return;
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> index = of(operand)) {
        classes[*index].isInProduct = true;
        classes[*index].isOfExperts |= !rule.expertLoops.empty();
      }
  });
}

std::optional<unsigned> WeightClasses::of(Value value) const {
  if (auto get = value.getDefiningOp<graph::GetOp>())
    return of(get.getSymbol());
  auto it = numbers.find(value.getAsOpaquePointer());
  if (it == numbers.end() || others.contains(value))
    return std::nullopt;
  return it->second;
}

std::optional<unsigned> WeightClasses::of(StringRef parameter) const {
  auto it = parameters.find(parameter);
  if (it == parameters.end())
    return std::nullopt;
  graph::ParameterOp op = it->second;
  return numbers.lookup(op.getOperation());
}

} // namespace dtc
