// Scalar bodies of the pointwise backward ops.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Points.h"

using namespace mlir;
using namespace dtc::graph;

// gelu(x) = x F(x), so its derivative is F(x) + x F'(x).
static Value geluDerivative(PointBuilder &b, Value x, GeluKind kind) {
  Value half = b.number(0.5), one = b.number(1);
  if (kind == GeluKind::Erf) { // F' is the normal density
    Value part = b.mul(half, b.add(one, b.erf(b.mul(x, b.number(M_SQRT1_2)))));
    Value bell = b.exp(b.mul(b.mul(x, x), b.number(-0.5)));
    Value density = b.mul(bell, b.number(M_2_SQRTPI * M_SQRT1_2 / 2)); // 1 / sqrt(2 pi)
    return b.add(part, b.mul(x, density));
  }
  // F = (1 + tanh(u)) / 2 with u = k (x + c x^3), so F' = (1 - tanh(u)^2) k (1 + 3 c x^2) / 2.
  double k = std::sqrt(M_2_PI), c = 0.044715;
  Value square = b.mul(x, x);
  Value inner = b.mul(b.number(k), b.add(x, b.mul(b.mul(square, x), b.number(c))));
  Value tanh = b.tanh(inner);
  Value part = b.mul(half, b.add(one, tanh));
  Value slope = b.mul(b.number(k), b.add(one, b.mul(square, b.number(3 * c))));
  Value density = b.mul(b.mul(half, slope), b.sub(one, b.mul(tanh, tanh)));
  return b.add(part, b.mul(x, density));
}

// dx = gelu'(x) dy.
SmallVector<Value> GeluGradOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                          ValueRange) {
  PointBuilder b(builder, loc);
  Value x = b.in(operands[0]), dy = b.in(operands[1]);
  return {b.out(b.mul(dy, geluDerivative(b, x, getKind())), getType())};
}

// silu(x) = x s(x) with s the sigmoid, s' = s (1 - s).
SmallVector<Value> SiluGradOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                          ValueRange) {
  PointBuilder b(builder, loc);
  Value x = b.in(operands[0]), dy = b.in(operands[1]);
  Value s = b.sigmoid(x), one = b.number(1);
  Value slope = b.mul(s, b.add(one, b.mul(x, b.sub(one, s))));
  return {b.out(b.mul(dy, slope), getType())};
}

// x == y ? dy : 0. NaN equals nothing: its gradient stops here, and the loss is NaN anyway.
SmallVector<Value> SelectEqualOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                             ValueRange) {
  PointBuilder b(builder, loc);
  Value equal = b.compare(arith::CmpFPredicate::OEQ, operands[0], operands[1]);
  Value zero = arith::ConstantOp::create(b.builder, builder.getZeroAttr(operands[2].getType()));
  return {b.select(equal, operands[2], zero)};
}
