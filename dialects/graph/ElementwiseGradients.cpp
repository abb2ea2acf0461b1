// Gradients of the point-by-point ops.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Builds the gradients of lhs and rhs; each function returns one with the result's type.
static LogicalResult binaryGradient(Operation *op, OpBuilder &builder, ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &grads, function_ref<Value()> lhs,
                                    function_ref<Value()> rhs) {
  grads.assign(2, Value());
  if (needed[0])
    grads[0] = sumToOperand(builder, op->getLoc(), lhs(), op->getOperand(0));
  if (needed[1])
    grads[1] = sumToOperand(builder, op->getLoc(), rhs(), op->getOperand(1));
  return success();
}

// y = l + r: dl = dy, dr = dy.
LogicalResult AddOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  Value dy = resultGrads[0];
  return binaryGradient(
      *this, builder, needed, grads, [&] { return dy; }, [&] { return dy; });
}

// y = l - r: dl = dy, dr = -dy.
LogicalResult SubtractOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  Value dy = resultGrads[0];
  auto negated = [&]() -> Value { return NegateOp::create(builder, getLoc(), dy); };
  return binaryGradient(
      *this, builder, needed, grads, [&] { return dy; }, negated);
}

// y = l r: dl = dy r, dr = dy l.
LogicalResult MultiplyOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  auto times = [&](Value other) -> Value {
    return MultiplyOp::create(builder, getLoc(), getType(), resultGrads[0], other);
  };
  return binaryGradient(
      *this, builder, needed, grads, [&] { return times(getRhs()); },
      [&] { return times(getLhs()); });
}

// d(l / r) = dl / r - (l / r) dr / r
LogicalResult DivideOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  Value quotient;
  auto lhs = [&]() -> Value {
    quotient = DivideOp::create(builder, getLoc(), getType(), resultGrads[0], getRhs());
    return quotient;
  };
  auto rhs = [&]() -> Value {
    if (!quotient)
      lhs();
    Value product = MultiplyOp::create(builder, getLoc(), getType(), quotient, getResult());
    return NegateOp::create(builder, getLoc(), product);
  };
  return binaryGradient(*this, builder, needed, grads, lhs, rhs);
}

// Passes the gradient to the side that was chosen; to both if they are equal.
template <typename OpTy>
static LogicalResult selectGradient(OpTy op, OpBuilder &builder, Value dy, ArrayRef<bool> needed,
                                    SmallVectorImpl<Value> &grads) {
  auto chosen = [&](Value side) -> Value {
    return SelectEqualOp::create(builder, op.getLoc(), op.getType(), side, op.getResult(), dy);
  };
  return binaryGradient(
      op, builder, needed, grads, [&] { return chosen(op.getLhs()); },
      [&] { return chosen(op.getRhs()); });
}

// y = min(l, r): passes dy to each side that equals y.
LogicalResult MinimumOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  return selectGradient(*this, builder, resultGrads[0], needed, grads);
}

// y = max(l, r): passes dy to each side that equals y. If both are equal, PyTorch and JAX halve dy;
// here relu at 0 passes all of it.
LogicalResult MaximumOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  return selectGradient(*this, builder, resultGrads[0], needed, grads);
}

// y = -x: dx = -dy.
LogicalResult NegateOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = NegateOp::create(builder, getLoc(), resultGrads[0]);
  return success();
}

// y = exp(x): dx = dy y. Uses the result, so that nothing is recomputed.
LogicalResult ExpOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = MultiplyOp::create(builder, getLoc(), getType(), resultGrads[0], getResult());
  return success();
}

// y = log(x): dx = dy / x.
LogicalResult LogOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = DivideOp::create(builder, getLoc(), getType(), resultGrads[0], getX());
  return success();
}

// d sqrt(x) = dx / (2 sqrt(x))
LogicalResult SqrtOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  Value quotient = DivideOp::create(builder, getLoc(), getType(), resultGrads[0], getResult());
  grads[0] = ScaleOp::create(builder, getLoc(), quotient, builder.getF64FloatAttr(0.5));
  return success();
}

// d tanh(x) = (1 - tanh(x)^2) dx
LogicalResult TanhOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  Value dy = resultGrads[0], y = getResult();
  Value square = MultiplyOp::create(builder, getLoc(), getType(), y, y);
  Value lost = MultiplyOp::create(builder, getLoc(), getType(), dy, square);
  grads[0] = SubtractOp::create(builder, getLoc(), getType(), dy, lost);
  return success();
}

// Builds one op instead of a chain of sigmoids, which fusion would compute twice
// (GradientPoints.cpp).
LogicalResult SiluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = SiluGradOp::create(builder, getLoc(), getType(), getX(), resultGrads[0]);
  return success();
}

// Builds one op from x: saving tanh or erf of x would cost memory from forward to backward.
LogicalResult GeluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = GeluGradOp::create(builder, getLoc(), getType(), getX(), resultGrads[0], getKind());
  return success();
}

// y = f x: dx = f dy.
LogicalResult ScaleOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = ScaleOp::create(builder, getLoc(), resultGrads[0], getFactorAttr());
  return success();
}

// Treats rounding as the identity: dx = dy in the type of x.
LogicalResult CastOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (!needed[0])
    return success();
  if (!isa<FloatType>(getElementTypeOrSelf(getX()))) // integers carry no gradient
    return emitOpError() << "has no gradient from " << getElementTypeOrSelf(getX());
  grads[0] = CastOp::create(builder, getLoc(), getX().getType(), resultGrads[0]);
  return success();
}
