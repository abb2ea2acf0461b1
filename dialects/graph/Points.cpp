#include "dialects/graph/Points.h"
#include "dialects/graph/ElementwiseOps.h"

using namespace mlir;
using namespace dtc::graph;

// Computes in f32 whatever the tensors hold: the mantissa of bf16 has only 8 bits.
Value PointBuilder::in(Value element) {
  if (!isa<FloatType>(element.getType()) || element.getType() == f32)
    return element;
  return arith::ExtFOp::create(builder, f32, element);
}

// Rounds to nearest even.
Value PointBuilder::out(Value value, Type tensorType) {
  Type element = getElementTypeOrSelf(tensorType);
  if (element == value.getType())
    return value;
  return arith::TruncFOp::create(builder, element, value);
}

Value PointBuilder::number(double value) {
  return arith::ConstantOp::create(builder, builder.getF32FloatAttr(static_cast<float>(value)));
}

// For x below -88, exp overflows to infinity and 1 / infinity is 0, the correct limit.
Value PointBuilder::sigmoid(Value x) {
  Value one = number(1);
  return div(one, add(one, exp(neg(x))));
}

Value PointBuilder::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, predicate, a, b);
}

Value PointBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, condition, a, b);
}
