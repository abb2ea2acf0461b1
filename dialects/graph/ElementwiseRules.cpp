// Rules of the point-by-point ops: one loop per result dim. The flops of functions are those of
// vector polynomials.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/RuleBuilder.h"

using namespace dtc::graph;

namespace {

OpRule linear(OpRule rule) {
  rule.jointlyLinear = true;
  return rule;
}

// Rule of lhs + rhs and similar ops: either side alone determines a result in padding.
OpRule additive(mlir::Operation *op) { return fedBy(fedBy(pointwiseRule(op, 1, true), 0), 1); }

} // namespace

OpRule AddOp::getRule() { return linear(additive(*this)); }
OpRule SubtractOp::getRule() { return linear(additive(*this)); }
// 0 r = 0 even if r is repeated into padding. Linear in each side, not in both together.
OpRule MultiplyOp::getRule() { return pointwiseRule(*this, 1, true); }
// 0 / 0 in padding is NaN.
OpRule DivideOp::getRule() { return pointwiseRule(*this, 1, false); }
// A repeated operand below 0 (minimum) or above 0 (maximum) would enter padding.
OpRule MinimumOp::getRule() { return additive(*this); }
OpRule MaximumOp::getRule() { return additive(*this); }
OpRule NegateOp::getRule() { return linear(pointwiseRule(*this, 1, true)); }
// exp(0) = 1 and log(0) is -infinity.
OpRule ExpOp::getRule() { return pointwiseRule(*this, 10, false); }
OpRule LogOp::getRule() { return pointwiseRule(*this, 10, false); }
// These are odd functions, or 0 at 0.
OpRule SqrtOp::getRule() { return pointwiseRule(*this, 1, true); }
OpRule TanhOp::getRule() { return pointwiseRule(*this, 15, true); }
OpRule SiluOp::getRule() { return pointwiseRule(*this, 13, true); }
OpRule GeluOp::getRule() { return pointwiseRule(*this, 20, true); }
OpRule ScaleOp::getRule() { return linear(pointwiseRule(*this, 1, true)); }
// Rounding does not commute with sums.
OpRule CastOp::getRule() { return pointwiseRule(*this, 0, true); }
OpRule ConstantOp::getRule() { return pointwiseRule(*this, 0, getValue().isZero()); }
