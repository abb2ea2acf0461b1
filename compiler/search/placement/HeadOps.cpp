// Follows heads from attention to the products around it.
#include "compiler/search/placement/HeadOps.h"

#include "passes/shard/OpSplit.h"

using namespace mlir;

namespace dtc {

HeadOps::HeadOps(ModuleOp step, const Mesh &mesh, const WeightClasses &weights) : mesh(mesh) {
  if (mesh.axesOf(AxisRole::Tensor).size() < 2)
    return;
  step.walk([&](graph::RuleOpInterface op) {
    graph::OpRule rule = op.getRule();
    if (std::optional<unsigned> heads = groupedLoop(rule))
      start(op, rule, *heads);
  });
  spread(weights);
}

ArrayRef<unsigned> HeadOps::loopsOf(Operation *op) const {
  auto it = loops.find(op);
  return it == loops.end() ? ArrayRef<unsigned>() : ArrayRef<unsigned>(it->second);
}

void HeadOps::start(Operation *op, const graph::OpRule &rule, unsigned heads) {
  loops[op] = {heads};
  SmallVector<unsigned, 2> axes = mesh.axesOf(AxisRole::Tensor);
  for (const graph::DimLoops &dim : rule.operands.front())
    if (dim.size() > 1 && dim.front() == heads) {
      OpSplit split(mesh.numAxes(), split::kNone);
      split[axes.front()] = static_cast<int>(heads);
      split[axes.back()] = static_cast<int>(dim[1]);
      groupsSplit &= canSplit(rule, split, mesh.sizes);
    }
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    push(value, tensor, heads);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    push(value, tensor, heads);
}

void HeadOps::push(Value value, const graph::TensorLoops &tensor, unsigned loop) {
  for (auto [dim, inDim] : llvm::enumerate(tensor))
    if (!inDim.empty() && inDim.front() == loop &&
        seen.insert({value, static_cast<int64_t>(dim)}).second)
      found.emplace_back(value, static_cast<int64_t>(dim));
}

void HeadOps::spread(const WeightClasses &weights) {
  while (!found.empty()) {
    auto [value, dim] = found.pop_back_val();
    if (std::optional<unsigned> weight = weights.of(value))
      headDims.insert({*weight, static_cast<unsigned>(dim)});
    if (Operation *maker = value.getDefiningOp())
      visit(maker, value, dim, weights);
    for (Operation *reader : value.getUsers())
      visit(reader, value, dim, weights);
  }
}

void HeadOps::visit(Operation *op, Value value, int64_t dim, const WeightClasses &weights) {
  auto interface = dyn_cast<graph::RuleOpInterface>(op);
  if (!interface)
    return;
  graph::OpRule rule = interface.getRule();
  if (groupedLoop(rule))
    return;
  SmallVector<std::pair<Value, const graph::TensorLoops *>, 6> tensors;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    tensors.emplace_back(operand, &tensor);
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    tensors.emplace_back(result, &tensor);
  for (auto [tensor, dims] : tensors) {
    int loop = tensor == value ? loopOfDim(*dims, dim) : split::kNone;
    if (loop < 0)
      continue;
    auto heads = static_cast<unsigned>(loop);
    if (!llvm::is_contained(loops[op], heads))
      loops[op].push_back(heads);
    for (auto [other, otherDims] : tensors)
      if (!rule.multiplies() || weights.of(other))
        push(other, *otherDims, heads);
  }
}

} // namespace dtc
