// Finds the values of a rank's program that are partial sums.
#include "passes/codegen/UnfinishedSums.h"

#include "dialects/graph/ElementwiseOps.h"
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

// Returns the axes along which a collective finishes partial sums.
int64_t finishedBy(Operation &op) {
  if (auto reduce = dyn_cast<shard::AllReduceOp>(op))
    return axesOf(reduce.getGridAxes());
  if (auto scatter = dyn_cast<shard::ReduceScatterOp>(op))
    return axesOf(scatter.getGridAxes());
  return 0;
}

// True if the op may run before a sum is finished. A cast is included although rounding does not
// commute with sums: gradients that are reduced in a narrow type are rounded on purpose.
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
