// Finds the ops of a function that a result depends on.
#include "dialects/graph/Slices.h"

#include "dialects/graph/LossChunks.h"

using namespace mlir;

namespace dtc::graph {

OpSet getProducers(ValueRange values) {
  OpSet ops;
  SmallVector<Value> left(values);
  while (!left.empty())
    if (Operation *op = left.pop_back_val().getDefiningOp(); op && ops.insert(op).second)
      llvm::append_range(left, op->getOperands());
  return ops;
}

SmallVector<Value> getResultsWith(FuncOp function, StringRef attr, StringRef name) {
  SmallVector<Value> values;
  for (auto [index, value] :
       llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (auto found = function.getResultAttrOfType<StringAttr>(index, attr);
        found && (name.empty() || found.getValue() == name))
      values.push_back(value);
  return values;
}

SmallVector<Value> getForwardEnds(FuncOp microbatch) {
  SmallVector<Value> ends = getResultsWith(microbatch, kAccumulatedAttr);
  for (Operation &op : microbatch.getBody().front())
    if (op.hasAttr(kLossChunkAttr))
      llvm::append_range(ends, op.getResults());
  return ends;
}

} // namespace dtc::graph
