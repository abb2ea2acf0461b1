// Spreads the roles of dims through a program.
#include "compiler/price/workload/DimRoles.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"

using namespace mlir;

namespace dtc {
namespace {

// Roles that spread from results to operands as well.
constexpr uint8_t kBothWays = ScalesWithSequence | ScalesWithVocabulary | DimRoles::kChannels;
// Holds the roles that are no ScaleBits.
constexpr uint8_t kUnscaled = DimRoles::kChannels | DimRoles::kMerged;

// Returns true if the op's indices are vocabulary entries: rows of a table, or targets of a loss.
bool picksWords(Operation *op, const graph::OpRule &rule) {
  return rule.kind == graph::OpKind::Loss || isa<graph::EmbeddingOp, graph::EmbeddingGradOp>(op);
}

SmallVector<uint8_t, 4> masked(ArrayRef<uint8_t> bits, uint8_t mask) {
  return llvm::map_to_vector<4>(bits, [&](uint8_t dim) { return uint8_t(dim & mask); });
}

} // namespace

DimRoles::DimRoles(ModuleOp module, StringRef function) : module(module) {
  auto func = module.lookupSymbol<graph::FuncOp>(function);
  for (BlockArgument argument : func.getArguments())
    add(argument, {ScalesWithBatch});
  // In program order what comes from operands gets everywhere at once, in reverse what comes from
  // results.
  do {
    isNew = false;
    visit(func, /*isReversed=*/false);
    visit(func, /*isReversed=*/true);
  } while (isNew);
}

ArrayRef<uint8_t> DimRoles::of(Value value) const {
  auto it = roles.find(value);
  return it == roles.end() ? ArrayRef<uint8_t>() : ArrayRef<uint8_t>(it->second);
}

uint8_t DimRoles::bitsOf(Value value) const {
  uint8_t bits = 0;
  for (uint8_t dim : of(value))
    bits |= dim;
  return bits & ~kUnscaled;
}

SmallVector<uint8_t, 8> DimRoles::ofLoops(Operation *op, const graph::OpRule &rule) const {
  SmallVector<uint8_t, 8> bits = rolesOfLoops(op, rule);
  for (uint8_t &loop : bits)
    loop &= ~kUnscaled;
  return bits;
}

// Combines the roles that the rule gives with those of the operands' dims.
SmallVector<uint8_t, 8> DimRoles::rolesOfLoops(Operation *op, const graph::OpRule &rule) const {
  SmallVector<uint8_t, 8> bits(rule.loops.size(), 0);
  for (unsigned loop : rule.sequenceLoops)
    bits[loop] |= ScalesWithSequence;
  for (unsigned loop : rule.channelLoops)
    bits[loop] |= kChannels;
  for (unsigned loop : rule.expertLoops)
    bits[loop] |= ScalesWithExperts;
  if (picksWords(op, rule))
    for (unsigned loop : rule.indexedLoops)
      bits[loop] |= ScalesWithVocabulary;
  for (unsigned loop : rule.capacityLoops)
    bits[loop] |= ScalesWithBatch | ScalesWithSequence | ScalesWithCapacity;
  // Tokens meet rows of experts by index: what scales with capacity is the rows alone, also where
  // both have the loop over groups of tokens.
  bool isIndexed = !rule.expertLoops.empty() && !rule.multiplies();
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    for (auto [dim, loops] : llvm::zip(of(operand), tensor))
      for (unsigned loop : loops) {
        bool isRows = !isIndexed || llvm::is_contained(rule.capacityLoops, loop);
        // Samples are the outermost loop of a dim that they were merged into.
        bool isInside = (dim & kMerged) && loop != loops.front();
        bits[loop] |= (isRows ? dim : dim & ~ScalesWithCapacity) &
                      (isInside ? ~(ScalesWithBatch | kMerged) : 0xff);
      }
  return bits;
}

void DimRoles::add(Value value, ArrayRef<uint8_t> bits) {
  if (!isa<RankedTensorType, graph::StackType>(value.getType()))
    return;
  // For a stack, the type of its entries.
  RankedTensorType tensor = graph::tensorOf(value.getType());
  SmallVector<uint8_t, 4> &entry = roles[value];
  entry.resize(tensor.getRank(), 0);
  for (auto [dim, more] : llvm::zip(entry, bits)) {
    isNew |= (more & ~dim) != 0;
    dim |= more;
  }
}

void DimRoles::follow(Value from, Value to) {
  add(to, SmallVector<uint8_t, 4>(of(from)));
  add(from, masked(of(to), kBothWays));
}

void DimRoles::visit(graph::FuncOp func, bool isReversed) {
  Block &body = func.getBody().front();
  if (isReversed)
    for (Operation &op : llvm::reverse(body.without_terminator()))
      visit(op, isReversed);
  else
    for (Operation &op : body.without_terminator())
      visit(op, isReversed);
}

void DimRoles::visit(Operation &op, bool isReversed) {
  if (auto call = dyn_cast<graph::BlockCallOpInterface>(op))
    visitCall(call, isReversed);
  else if (auto interface = dyn_cast<graph::RuleOpInterface>(op))
    visitRule(&op, interface.getRule());
  else if (op.getNumOperands() > 0) // the op moves a tensor between ranks
    for (Value result : op.getResults())
      follow(op.getOperand(0), result);
}

void DimRoles::visitRule(Operation *op, const graph::OpRule &rule) {
  SmallVector<uint8_t, 8> loops = rolesOfLoops(op, rule);
  // The operand of a view takes over its role of experts, as biases do.
  uint8_t back = rule.kind == graph::OpKind::View ? kBothWays | ScalesWithExperts : kBothWays;
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    for (auto [dim, ofDim] : llvm::zip(of(result), tensor))
      if (ofDim.size() == 1)
        loops[ofDim.front()] |= dim & back;
  auto rolesOf = [&](const graph::TensorLoops &tensor) {
    return llvm::map_to_vector<4>(tensor, [&](const graph::DimLoops &dim) {
      uint8_t all = 0;
      for (unsigned loop : dim)
        all |= loops[loop];
      bool isMerged = rule.kind == graph::OpKind::View && dim.size() > 1 &&
                      (loops[dim.front()] & ScalesWithBatch);
      return static_cast<uint8_t>(all | (isMerged ? kMerged : 0));
    });
  };
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    add(result, rolesOf(tensor));
  // Weights of experts learn from their op that they are.
  uint8_t mask = rule.expertLoops.empty() ? back : 0xff;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    add(operand, masked(rolesOf(tensor), mask));
}

void DimRoles::visitCall(graph::BlockCallOpInterface call, bool isReversed) {
  auto callee = module.lookupSymbol<graph::FuncOp>(call.getBlockName());
  Operation *end = callee.getBody().front().getTerminator();
  for (auto [result, value] : llvm::zip(call->getResults(), end->getOperands()))
    follow(value, result);
  for (auto [argument, operand] : llvm::zip(callee.getArguments(), call->getOperands()))
    follow(operand, argument);
  visit(callee, isReversed);
  // In all executions but the first, a repeat carries values that the block returned.
  for (auto index : llvm::seq(static_cast<unsigned>(call.getNumCarried())))
    follow(end->getOperand(index), callee.getArgument(index));
  for (auto [argument, operand] : llvm::zip(callee.getArguments(), call->getOperands()))
    add(operand, SmallVector<uint8_t, 4>(of(argument)));
  for (auto [result, value] : llvm::zip(call->getResults(), end->getOperands()))
    follow(value, result);
}

} // namespace dtc
