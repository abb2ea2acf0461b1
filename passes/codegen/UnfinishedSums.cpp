// Which values of a rank's program are parts of sums that ranks have yet to finish.
#include "passes/codegen/UnfinishedSums.h"

#include "dialects/graph/Unfinished.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace dtc {
namespace {

int64_t axesOf(ArrayRef<int16_t> axes) {
  int64_t bits = 0;
  for (int16_t axis : axes)
    bits |= int64_t(1) << axis;
  return bits;
}

// Axes along which an op makes sums of parts.
int64_t finishedBy(Operation &op) {
  if (auto reduce = dyn_cast<shard::AllReduceOp>(op))
    return axesOf(reduce.getGridAxes());
  if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op))
    return axesOf(scatter.getGridAxes());
  return 0;
}

// Rounding does not, but gradients that ranks add up in a narrow type are rounded for it.
bool commutesWithSums(Operation &op) {
  auto rule = dyn_cast<graph::RuleOpInterface>(op);
  return !rule || isa<graph::CastOp>(op) || rule.getRule().jointlyLinear;
}

} // namespace

llvm::DenseMap<Value, int64_t> findUnfinished(Block &block) {
  llvm::DenseMap<Value, int64_t> unfinished;
  for (Operation &op : block) {
    int64_t ofOperands = 0, shares = 0;
    for (Value operand : op.getOperands())
      ofOperands |= unfinished.lookup(operand);
    ofOperands &= ~finishedBy(op);
    if (ofOperands != 0 && !commutesWithSums(op))
      ofOperands = 0;
    if (auto scale = dyn_cast<graph::ScaleOp>(op))
      for (int64_t axis : scale.getShareAxes().value_or(ArrayRef<int64_t>()))
        shares |= int64_t(1) << axis;
    auto said = op.getAttrOfType<DenseI64ArrayAttr>(graph::kUnfinishedAttr);
    if (said && said.size() != static_cast<int64_t>(op.getNumResults()))
      said = {};
    for (OpResult result : op.getResults()) {
      int64_t axes = (said ? said[result.getResultNumber()] : ofOperands) | shares;
      if (axes != 0)
        unfinished[result] = axes;
    }
  }
  return unfinished;
}

} // namespace dtc
