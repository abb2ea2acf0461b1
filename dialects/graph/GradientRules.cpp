// Rules of the backward ops.
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

OpRule LinearWeightGradOp::getRule() {
  RuleBuilder builder;
  int64_t lead = tensorType(getX()).getRank() - getContract();
  TensorLoops rows = builder.loops(getX(), 0, lead, LoopKind::Sum);
  TensorLoops in = builder.loops(getX(), lead);
  TensorLoops out = builder.loops(getDy(), lead);
  builder.operand(rows + in).operand(rows + out).result(getTransposed() ? out + in : in + out);
  return builder.matrixProduct(2).zeroPreserving().take();
}

OpRule EmbeddingGradOp::getRule() {
  RuleBuilder builder;
  int64_t last = tensorType(getIds()).getRank();
  TensorLoops tokens = builder.loops(getIds(), 0, -1, LoopKind::Sum);
  TensorLoops column = builder.loops(getDy(), last);
  TensorLoops row = builder.loops(getResult(), 0, 1);
  builder.operand(tokens).operand(tokens + column).result(row + column).indexed(row);
  return builder.zeroPreserving().take();
}

// Input gradient of a norm: x, weight, statistics of the rows..., dy.
static OpRule normGradRule(Operation *op, double flopsPerPoint) {
  RuleBuilder builder;
  Value x = op->getOperand(0);
  int64_t last = tensorType(x).getRank() - 1;
  TensorLoops rows = builder.loops(x, 0, last);
  TensorLoops column = builder.loops(x, last, last + 1, LoopKind::Whole);
  builder.operand(rows + column).operand(column);
  for (unsigned i = 2; i + 1 < op->getNumOperands(); ++i)
    builder.operand(rows);
  builder.operand(rows + column).result(rows + column);
  return builder.flops(flopsPerPoint).zeroPreserving().take();
}

OpRule LayerNormGradOp::getRule() { return normGradRule(*this, 11); }
OpRule RmsNormGradOp::getRule() { return normGradRule(*this, 8); }

// Parameter gradients of a norm: x, statistics of the rows..., dy. The statistics are given, so
// columns are independent.
static OpRule normParamGradRule(Operation *op, double flopsPerPoint) {
  RuleBuilder builder;
  Value x = op->getOperand(0);
  int64_t last = tensorType(x).getRank() - 1;
  TensorLoops rows = builder.loops(x, 0, last, LoopKind::Sum);
  TensorLoops column = builder.loops(x, last);
  builder.operand(rows + column);
  for (unsigned i = 1; i + 1 < op->getNumOperands(); ++i)
    builder.operand(rows);
  builder.operand(rows + column);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    builder.result(column);
  return builder.flops(flopsPerPoint).zeroPreserving().take();
}

OpRule LayerNormParamGradOp::getRule() { return normParamGradRule(*this, 5); }
OpRule RmsNormParamGradOp::getRule() { return normParamGradRule(*this, 3); }

OpRule CrossEntropyGradOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getTargets());
  TensorLoops word = builder.loops(getLogits(), rows.size());
  builder.operand(rows + word).operand(rows).operand(rows).operand(rows);
  return builder.result(rows + word).indexed(word).flops(13).zeroPreserving().take();
}

OpRule SoftmaxGradOp::getRule() {
  RuleBuilder builder;
  int64_t last = tensorType(getY()).getRank() - 1;
  TensorLoops rows = builder.loops(getY(), 0, last);
  TensorLoops row = rows + builder.loops(getY(), last, last + 1, LoopKind::Whole);
  return builder.operand(row).operand(row).result(row).flops(4).zeroPreserving().take();
}

OpRule GeluGradOp::getRule() { return pointwiseRule(*this, 30, true); }
OpRule SiluGradOp::getRule() { return pointwiseRule(*this, 18, true); }
OpRule SelectEqualOp::getRule() { return fedBy(pointwiseRule(*this, 1, true), /*dy=*/2); }
