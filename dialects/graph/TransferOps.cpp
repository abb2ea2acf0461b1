// Checks transfers between the stages of a pipeline.
#include "dialects/graph/TransferOps.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/TransferOps.cpp.inc"

namespace {
LogicalResult checkStatic(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (!tensor.hasStaticShape())
    return op->emitOpError() << "moves " << tensor << ", but a static shape is wanted";
  return success();
}

// Checks the constraints that send and receive share.
template <typename Op> LogicalResult checkTransfer(Op op) {
  auto from = static_cast<int64_t>(op.getFrom()), to = static_cast<int64_t>(op.getTo());
  if (from < 0 || to < 0 || from == to) // send_c1
    return op.emitOpError() << "goes from chunk " << from << " to " << to
                            << ", but two chunks of 0 or more are wanted";
  if (failed(checkStatic(op, op.getValue().getType()))) // send_c2
    return failure();
  if (op.getName().empty()) // send_c3
    return op.emitOpError("has an empty name");
  return success();
}
} // namespace

LogicalResult SendOp::verify() { return checkTransfer(*this); }
LogicalResult ReceiveOp::verify() { return checkTransfer(*this); }

LogicalResult StageReduceOp::verify() {
  ArrayRef<int64_t> stages = getStages();
  bool ascends = stages.size() >= 2 && stages.front() >= 0;
  for (size_t i = 1; i < stages.size(); ++i)
    ascends &= stages[i - 1] < stages[i];
  if (!ascends) // stage_reduce_c1
    return emitOpError() << "is over stages [" << stages
                         << "], but two or more are wanted, 0 or more and ascending";
  if (getReduce() == ReduceKind::Mean) // stage_reduce_c2
    return emitOpError("takes a mean, but a sum or a maximum is wanted");
  return checkStatic(*this, getValue().getType()); // stage_reduce_c3
}
