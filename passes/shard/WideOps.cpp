// Finds the ops around tensors that have many numbers for each token, such as logits.
#include "passes/shard/WideOps.h"

#include "dialects/graph/Slices.h"

using namespace mlir;

namespace dtc {
namespace {

using OpList = llvm::SetVector<Operation *>;

// Returns true if the tensor has as many tokens as `like`, the product of all dims but the last,
// and more than one number for each.
bool hasTokensOf(Value like, Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() < 2 || type.getShape().back() <= 1)
    return false;
  auto ofLike = cast<RankedTensorType>(like.getType());
  return type.getNumElements() / type.getShape().back() ==
         ofLike.getNumElements() / ofLike.getShape().back();
}

// Returns the ops that make or read one of the wide tensors, and adds the tensors that they lead
// to. Products alone turn wide tensors into narrow ones.
OpList opsAround(llvm::SetVector<Value> &wide) {
  OpList ops;
  for (size_t next = 0; next < wide.size(); ++next) {
    SmallVector<Operation *> around(wide[next].getUsers());
    if (Operation *maker = wide[next].getDefiningOp())
      around.push_back(maker);
    for (Operation *op : around) {
      if (op->hasTrait<OpTrait::IsTerminator>() || !ops.insert(op))
        continue;
      if (auto rule = dyn_cast<graph::RuleOpInterface>(op); rule && rule.getRule().multiplies())
        continue;
      SmallVector<Value> values(op->getOperands());
      llvm::append_range(values, op->getResults());
      for (Value value : values)
        if (hasTokensOf(wide.front(), value))
          wide.insert(value);
    }
  }
  return ops;
}

// Returns the ops, and those that stand between two of them, in their order: collectives of a
// vocabulary that ranks share, for example.
SmallVector<Operation *> withThoseBetween(const OpList &ops, Block *block) {
  SmallVector<Value> read;
  for (Operation *op : ops)
    llvm::append_range(read, op->getOperands());
  graph::OpSet before = graph::getProducers(read), behind;
  SmallVector<Operation *> all;
  for (Operation &op : *block) {
    bool isBehind = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && (ops.contains(maker) || behind.contains(maker));
    });
    if (isBehind)
      behind.insert(&op);
    if (ops.contains(&op) || (isBehind && before.contains(&op)))
      all.push_back(&op);
  }
  return all;
}

} // namespace

WideOps::WideOps(Value wide) {
  tensors.insert(wide);
  OpList around = opsAround(tensors);
  ops = withThoseBetween(around, wide.getParentBlock());
}

} // namespace dtc
