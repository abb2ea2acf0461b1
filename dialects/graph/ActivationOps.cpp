// Implements the activations: rules, gradients and scalar bodies.
#include "dialects/graph/ActivationOps.h"
#include "dialects/graph/ElementwiseOps.h"

#include "dialects/graph/Points.h"
#include "dialects/graph/RuleBuilder.h"

using namespace mlir;
using namespace dtc::graph;

OpRule ReluOp::getRule() { return pointwiseRule(*this, 1, true); }
OpRule ReluGradOp::getRule() { return pointwiseRule(*this, 1, true); }

SmallVector<Value> ReluOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                      ValueRange) {
  PointBuilder b(builder, loc);
  return {b.out(b.max(b.in(operands[0]), b.number(0)), getType())};
}

// y > 0 ? dy : 0
SmallVector<Value> ReluGradOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                          ValueRange) {
  PointBuilder b(builder, loc);
  Value positive = b.compare(arith::CmpFPredicate::OGT, b.in(operands[0]), b.number(0));
  Value zero = arith::ConstantOp::create(b.builder, builder.getZeroAttr(operands[1].getType()));
  return {b.select(positive, operands[1], zero)};
}

// dx = dy for x above 0. Reads the sign off the result, which the next op saves too.
LogicalResult ReluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = ReluGradOp::create(builder, getLoc(), getType(), getResult(), resultGrads[0]);
  return success();
}

#define GET_OP_CLASSES
#include "dialects/graph/ActivationOps.cpp.inc"
