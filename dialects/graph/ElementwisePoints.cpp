// Scalar bodies of the point-by-point ops.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Points.h"
#include "dialects/graph/ShapeOps.h"

using namespace mlir;
using namespace dtc::graph;

using Values = SmallVector<Value>;

// Widens the operands, applies `body` and rounds its result to the type of the op's only result.
template <typename Body>
static Values point(Operation *op, OpBuilder &builder, Location loc, ValueRange operands,
                    Body body) {
  PointBuilder b(builder, loc);
  SmallVector<Value, 3> wide;
  for (Value operand : operands)
    wide.push_back(b.in(operand));
  return {b.out(body(b, wide), op->getResult(0).getType())};
}

Values AddOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.add(x[0], x[1]); });
}
Values SubtractOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.sub(x[0], x[1]); });
}
Values MultiplyOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.mul(x[0], x[1]); });
}
Values DivideOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.div(x[0], x[1]); });
}
Values MinimumOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.min(x[0], x[1]); });
}
Values MaximumOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.max(x[0], x[1]); });
}
Values NegateOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.neg(x[0]); });
}
Values ExpOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.exp(x[0]); });
}
Values LogOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.log(x[0]); });
}
Values SqrtOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.sqrt(x[0]); });
}
Values TanhOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands,
               [](PointBuilder &b, ArrayRef<Value> x) { return b.tanh(x[0]); });
}
// Computes x / (1 + exp(-x)) with one division; x * sigmoid(x) would take one more multiplication.
// Source: Elfwing, Uchibe and Doya 2017, arXiv:1702.03118.
Values SiluOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  return point(*this, builder, loc, operands, [](PointBuilder &b, ArrayRef<Value> x) {
    return b.div(x[0], b.add(b.number(1), b.exp(b.neg(x[0]))));
  });
}

// erf: x/2 (1 + erf(x / sqrt(2))). tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
// Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.
Values GeluOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  bool isErf = getKind() == GeluKind::Erf;
  return point(*this, builder, loc, operands, [&](PointBuilder &b, ArrayRef<Value> wide) {
    Value x = wide[0];
    Value shape;
    if (isErf) {
      shape = b.erf(b.mul(x, b.number(M_SQRT1_2)));
    } else {
      Value cubic = b.mul(b.mul(b.mul(x, x), x), b.number(0.044715));
      shape = b.tanh(b.mul(b.add(x, cubic), b.number(std::sqrt(M_2_PI))));
    }
    return b.mul(b.mul(x, b.number(0.5)), b.add(b.number(1), shape));
  });
}

Values ScaleOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  double factor = getFactor().convertToDouble();
  return point(*this, builder, loc, operands,
               [&](PointBuilder &b, ArrayRef<Value> x) { return b.mul(x[0], b.number(factor)); });
}

// Rounds once, in the compiler.
Values ConstantOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  Type element = getElementTypeOrSelf(getType());
  Value value = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(element, getValue().convertToDouble()));
  return {value};
}

// Rounds floats to nearest even and floats to integers towards zero; integers are signed.
Values CastOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands, ValueRange) {
  Value x = operands[0];
  Type from = x.getType(), to = getElementTypeOrSelf(getType());
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (from == to)
    return {x};
  if (fromFloat && toFloat) { // converts through f32, as bf16 and f16 do not convert directly
    PointBuilder b(builder, loc);
    return {b.out(b.in(x), to)};
  }
  if (fromFloat)
    return {arith::FPToSIOp::create(builder, loc, to, x).getResult()};
  if (toFloat)
    return {arith::SIToFPOp::create(builder, loc, to, x).getResult()};
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return {arith::ExtSIOp::create(builder, loc, to, x).getResult()};
  return {arith::TruncIOp::create(builder, loc, to, x).getResult()};
}

Values BroadcastOp::buildPoint(OpBuilder &, Location, ValueRange operands, ValueRange) {
  return {operands[0]};
}
