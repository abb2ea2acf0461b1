#include "dialects/graph/Gradients.h"

#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// A broadcast operand is read by many points, each of which contributes to its gradient: the
// transpose of repeating is a sum. Example: x[8,16] + b[16] with dy[8,16]: db = sum over dim 0.
// Dims that grew from 1 are summed away and reshaped back in.
Value dtc::graph::sumToOperand(OpBuilder &builder, Location loc, Value grad, Value operand) {
  RankedTensorType from = tensorType(grad), to = tensorType(operand);
  if (from == to)
    return grad;
  int64_t missing = from.getRank() - to.getRank();
  SmallVector<int64_t> dims, rest;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    bool repeats = dim < missing || to.getDimSize(dim - missing) != from.getDimSize(dim);
    if (repeats)
      dims.push_back(dim);
    else
      rest.push_back(from.getDimSize(dim));
  }
  auto type = RankedTensorType::get(rest, from.getElementType());
  Value sum = ReduceOp::create(builder, loc, type, grad, ReduceKind::Sum, dims);
  return type == to ? sum : ReshapeOp::create(builder, loc, to, sum).getResult();
}

LogicalResult dtc::graph::refuseGradient(Operation *op, ValueRange resultGrads, unsigned result,
                                         StringRef name) {
  if (!resultGrads[result])
    return success();
  return op->emitOpError() << "has no gradient through '" << name
                           << "', which is kept for the backward pass only";
}

LogicalResult dtc::graph::refuseOperand(Operation *op, ArrayRef<bool> needed, unsigned operand,
                                        StringRef name) {
  if (!needed[operand])
    return success();
  return op->emitOpError() << "has no gradient with respect to '" << name << "'";
}

Value dtc::graph::repeatLike(OpBuilder &builder, Location loc, Value grad, ArrayRef<int64_t> dims,
                             Value like) {
  if (dims.empty())
    return grad;
  RankedTensorType type = tensorType(like);
  auto result = RankedTensorType::get(type.getShape(), tensorType(grad).getElementType());
  bool needsLike = dims[0] == 0 && type.isDynamicDim(0);
  return BroadcastOp::create(builder, loc, result, grad, builder.getDenseI64ArrayAttr(dims),
                             needsLike ? like : Value());
}
