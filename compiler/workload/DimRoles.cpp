// Spreads the roles of dims through a program.
#include "compiler/workload/DimRoles.h"

using namespace mlir;

namespace dtc {

DimRoles::DimRoles(ModuleOp module, StringRef function) : module(module) {
  auto func = module.lookupSymbol<graph::FuncOp>(function);
  auto length = module->getAttrOfType<IntegerAttr>(graph::kSequenceLengthAttr);
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isSequence = length && type && type.getRank() > 1 && type.getDimSize(1) == length.getInt();
    SmallVector<uint8_t, 2> bits{ScalesWithBatch};
    if (isSequence)
      bits.push_back(ScalesWithSequence);
    add(argument, bits);
  }
  visit(func);
}

ArrayRef<uint8_t> DimRoles::of(Value value) const {
  auto it = roles.find(value);
  return it == roles.end() ? ArrayRef<uint8_t>() : ArrayRef<uint8_t>(it->second);
}

uint8_t DimRoles::bitsOf(Value value) const {
  uint8_t bits = 0;
  for (uint8_t dim : of(value))
    bits |= dim;
  return bits;
}

SmallVector<uint8_t, 8> DimRoles::ofLoops(Operation *op, const graph::OpRule &rule) const {
  SmallVector<uint8_t, 8> bits(rule.loops.size(), 0);
  for (unsigned loop : rule.expertLoops)
    bits[loop] |= ScalesWithExperts;
  for (unsigned loop : rule.capacityLoops)
    bits[loop] |= ScalesWithBatch | ScalesWithSequence | ScalesWithCapacity;
  // Tokens meet rows of experts by index: what scales with capacity is the rows alone, also where
  // both have the loop over groups of tokens.
  bool isIndexed = !rule.expertLoops.empty() && !rule.multiplies();
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    for (auto [dim, loops] : llvm::zip(of(operand), tensor))
      for (unsigned loop : loops) {
        bool isRows = !isIndexed || llvm::is_contained(rule.capacityLoops, loop);
        bits[loop] |= isRows ? dim : dim & ~ScalesWithCapacity;
      }
  return bits;
}

bool DimRoles::add(Value value, ArrayRef<uint8_t> bits) {
  if (!isa<RankedTensorType, graph::StackType>(value.getType()))
    return false;
  RankedTensorType tensor = graph::tensorOf(value.getType()); // of a stack: of its entries
  SmallVector<uint8_t, 4> &entry = roles[value];
  SmallVector<uint8_t, 4> before = entry;
  entry.resize(tensor.getRank(), 0);
  for (auto [dim, add] : llvm::zip(entry, bits))
    dim |= add;
  return entry != before;
}

void DimRoles::visit(graph::FuncOp func) {
  for (Operation &op : func.getBody().front().without_terminator())
    visit(op);
}

void DimRoles::visit(Operation &op) {
  if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
    return visitCall(call);
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface) { // collectives, whose dims are those of their operand
    for (Value result : op.getResults())
      if (op.getNumOperands() > 0)
        add(result, SmallVector<uint8_t, 4>(of(op.getOperand(0))));
    return;
  }
  graph::OpRule rule = interface.getRule();
  SmallVector<uint8_t, 8> loops = ofLoops(&op, rule);
  auto addTensor = [&](Value value, const graph::TensorLoops &tensor) {
    SmallVector<uint8_t, 4> bits;
    for (const graph::DimLoops &dim : tensor) {
      uint8_t all = 0;
      for (unsigned loop : dim)
        all |= loops[loop];
      bits.push_back(all);
    }
    add(value, bits);
  };
  for (auto [result, tensor] : llvm::zip(op.getResults(), rule.results))
    addTensor(result, tensor);
  // Weights of experts learn from their op that they are.
  for (auto [operand, tensor] : llvm::zip(op.getOperands(), rule.operands))
    if (!rule.expertLoops.empty())
      addTensor(operand, tensor);
}

void DimRoles::visitCall(graph::BlockCallOpInterface call) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  for (auto [argument, operand] : llvm::zip(callee.getArguments(), call->getOperands()))
    add(argument, SmallVector<uint8_t, 4>(of(operand)));
  Operation *end = callee.getBody().front().getTerminator();
  // What a repeat carries is in all executions but the first what the block returned.
  auto numCarried = static_cast<unsigned>(call.getNumCarried());
  for (bool isNew = true; isNew;) {
    visit(callee);
    isNew = false;
    for (unsigned index = 0; index < numCarried; ++index)
      isNew |= add(callee.getArgument(index), SmallVector<uint8_t, 4>(of(end->getOperand(index))));
  }
  for (auto [operand, argument] : llvm::zip(call->getOperands(), callee.getArguments()))
    add(operand, SmallVector<uint8_t, 4>(of(argument)));
  for (auto [result, value] : llvm::zip(call->getResults(), end->getOperands()))
    add(result, SmallVector<uint8_t, 4>(of(value)));
}

} // namespace dtc
