// Gradients of the ops that move elements, and of reductions.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Returns the number of elements that each result of a mean stands for; fails with a diagnostic
// while the batch is unbound.
static FailureOr<int64_t> countOfMean(ReduceOp op) {
  int64_t count = 1;
  for (int64_t dim : op.getDims()) {
    int64_t size = tensorType(op.getX()).getDimSize(dim);
    if (ShapedType::isDynamic(size))
      return op.emitOpError() << "is a mean over dim " << dim
                              << ", which is dynamic, so its gradient has no known scale; bind the "
                                 "batch first (dtc-bind-batch)";
    count *= size;
  }
  return count;
}

// y = s sum(x) gives every element dx = s dy; a mean is a sum with s = 1 / count; y = max(x) passes
// dy to all elements that equal the maximum.
LogicalResult ReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  Value dy = resultGrads[0];
  // Casts to the type of x first: x may be narrower than the sum.
  Type element = tensorType(getX()).getElementType();
  auto narrow = [&](Value value) -> Value {
    RankedTensorType type = tensorType(value);
    if (type.getElementType() == element)
      return value;
    return CastOp::create(builder, getLoc(), RankedTensorType::get(type.getShape(), element),
                          value);
  };
  if (getKind() == ReduceKind::Max) {
    Value highest = repeatLike(builder, getLoc(), narrow(getResult()), getDims(), getX());
    Value repeated = repeatLike(builder, getLoc(), narrow(dy), getDims(), getX());
    grads[0] =
        SelectEqualOp::create(builder, getLoc(), getX().getType(), getX(), highest, repeated);
    return success();
  }
  double scale = getScale().convertToDouble();
  if (getKind() == ReduceKind::Mean) {
    FailureOr<int64_t> count = countOfMean(*this);
    if (failed(count))
      return failure();
    scale = 1.0 / static_cast<double>(*count);
  }
  if (scale != 1.0)
    dy = ScaleOp::create(builder, getLoc(), dy, builder.getF64FloatAttr(scale));
  grads[0] = repeatLike(builder, getLoc(), narrow(dy), getDims(), getX());
  return success();
}

// The transpose of repeating: dx = sum of dy over the new dims. 'like' only lends its size and gets
// no gradient.
LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (!needed[0])
    return success();
  RankedTensorType x = tensorType(getX());
  if (getDims().empty()) {
    grads[0] = resultGrads[0];
    return success();
  }
  SmallVector<int64_t> rest;
  for (int64_t dim = 0; dim < getType().getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      rest.push_back(getType().getDimSize(dim));
  auto type = RankedTensorType::get(rest, x.getElementType());
  Value sum = ReduceOp::create(builder, getLoc(), type, resultGrads[0], ReduceKind::Sum, getDims());
  grads[0] = type == x ? sum : ReshapeOp::create(builder, getLoc(), x, sum).getResult();
  return success();
}

// dx is dy in the shape of x, because a reshape keeps the order of elements.
LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = ReshapeOp::create(builder, getLoc(), getX().getType(), resultGrads[0]);
  return success();
}

// Result dim i is dim p[i] of x, so dim p[i] of dx is dim i of dy: the inverse permutation.
LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  SmallVector<int64_t> inverse(getPermutation().size());
  for (const auto &[i, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = i;
  grads[0] = TransposeOp::create(builder, getLoc(), getX().getType(), resultGrads[0], inverse);
  return success();
}

// Elements outside of the slice get zeros: dx = dy with padding on both sides.
LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  RankedTensorType x = tensorType(getX());
  Value dy = resultGrads[0];
  if (getSqueeze()) {
    SmallVector<int64_t> shape(x.getShape());
    shape[getDim()] = 1;
    dy = ReshapeOp::create(builder, getLoc(), RankedTensorType::get(shape, x.getElementType()), dy);
  }
  int64_t high = x.getDimSize(getDim()) - getStart() - getSize();
  grads[0] = PadOp::create(builder, getLoc(), x, dy, getDim(), getStart(), high);
  return success();
}

// Element i enters the sums i and behind, so dx is the sum of dy from the other end.
LogicalResult CumsumOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] =
        CumsumOp::create(builder, getLoc(), getType(), resultGrads[0], getDim(), !getReverse());
  return success();
}

// Gradients of the padding are dropped: dx is the slice of dy at the place of x.
LogicalResult PadOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  RankedTensorType x = tensorType(getX());
  grads[0] = SliceOp::create(builder, getLoc(), x, resultGrads[0], getDim(), getLow(),
                             x.getDimSize(getDim()), /*squeeze=*/false);
  return success();
}

// Each input gets the slice of dy at its place.
LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  int64_t start = 0;
  for (const auto &[i, input] : llvm::enumerate(getInputs())) {
    int64_t size = getStack() ? 1 : tensorType(input).getDimSize(getDim());
    if (needed[i])
      grads[i] = SliceOp::create(builder, getLoc(), input.getType(), resultGrads[0], getDim(),
                                 start, size, getStack());
    start += size;
  }
  return success();
}
