// Rules of the backward ops.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// dw[in, out] = sum over rows of x[rows, in] dy[rows, out]: M in, N out, K rows. A split batch
// leaves the partial sums that data parallelism adds up at the end of a step.
OpRule LinearWeightGradOp::getRule() {
  RuleBuilder builder;
  int64_t lead = tensorType(getX()).getRank() - getContract();
  TensorLoops rows = builder.loops(getX(), 0, lead, LoopKind::Sum);
  TensorLoops in = builder.loops(getX(), lead);
  TensorLoops out = builder.loops(getDy(), lead);
  builder.operand(rows + in).operand(rows + out).result(getTransposed() ? out + in : in + out);
  return builder.product().channels(in + out).gradient().zeroPreserving().take();
}

// dtable[w] = sum of dy[t] where ids[t] = w. Split by table rows, each rank skips ids of others;
// split by tokens, it leaves a partial sum.
OpRule EmbeddingGradOp::getRule() {
  RuleBuilder builder;
  int64_t last = tensorType(getIds()).getRank();
  TensorLoops tokens = builder.loops(getIds(), 0, -1, LoopKind::Sum);
  TensorLoops column = builder.loops(getDy(), last);
  TensorLoops row = builder.loops(getResult(), 0, 1);
  builder.operand(tokens).operand(tokens + column).result(row + column).indexed(row);
  builder.sequence(sequenceOfTokens(tokens)).channels(column);
  return builder.gradient().zeroPreserving().take();
}

// The rule of a norm's input gradient: x, weight, statistics of the rows..., dy.
static RuleBuilder normGradRule(Operation *op, double flopsPerPoint) {
  RuleBuilder builder;
  Value x = op->getOperand(0);
  int64_t last = tensorType(x).getRank() - 1;
  TensorLoops rows = builder.loops(x, 0, last);
  TensorLoops column = builder.loops(x, last, last + 1, LoopKind::Staged);
  builder.operand(rows + column).operand(column);
  for (unsigned i = 2; i + 1 < op->getNumOperands(); ++i)
    builder.operand(rows);
  builder.operand(rows + column).result(rows + column).channels(column);
  return builder.flops(flopsPerPoint).kind(OpKind::Normalisation).gradient().zeroPreserving();
}

// In a padded column g = 0, but n = -mean * rstd is not: dx = -rstd * (mean(g) + n mean(g n)).
OpRule LayerNormGradOp::getRule() {
  RuleBuilder builder = normGradRule(*this, 11);
  unsigned column = tensorType(getMean()).getRank();
  return builder.fed({{column}}).take();
}

OpRule RmsNormGradOp::getRule() { return normGradRule(*this, 8).composite().take(); }

// The rule of a norm's parameter gradients: x, statistics of the rows..., dy. The statistics are
// given, so columns are independent.
static RuleBuilder normParamGradRule(Operation *op, double flopsPerPoint) {
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
  builder.channels(column);
  return builder.flops(flopsPerPoint).kind(OpKind::Normalisation).gradient().zeroPreserving();
}

OpRule LayerNormParamGradOp::getRule() { return normParamGradRule(*this, 5).take(); }
OpRule RmsNormParamGradOp::getRule() { return normParamGradRule(*this, 3).composite().take(); }

// (exp(x - lse) - onehot) dloss is pointwise in the vocabulary, as lse is given and the target is a
// global index. exp(0 - lse) of a padded entry is not 0; the op masks it, since it knows its
// entries.
OpRule CrossEntropyGradOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getTargets());
  TensorLoops word = builder.loops(getLogits(), rows.size());
  builder.operand(rows + word).operand(rows).operand(rows).operand(rows);
  builder.result(rows + word).indexed(word).flops(13);
  return builder.kind(OpKind::Loss).gradient().zeroPreserving().take();
}

OpRule SoftmaxGradOp::getRule() {
  RuleBuilder builder;
  int64_t last = tensorType(getY()).getRank() - 1;
  TensorLoops rows = builder.loops(getY(), 0, last);
  TensorLoops row = rows + builder.loops(getY(), last, last + 1, LoopKind::Staged);
  builder.operand(row).operand(row).result(row).flops(4);
  return builder.gradient().zeroPreserving().take();
}

// A zero dy gives zero. The 30 and 18 flops are a tanh or exp and the polynomial around it.
OpRule GeluGradOp::getRule() { return pointwiseRule(*this, 30, true); }
OpRule SiluGradOp::getRule() { return pointwiseRule(*this, 18, true); }
// x = y = 0 in padding passes dy on, so loops that dy lacks are fed.
OpRule SelectEqualOp::getRule() { return fedBy(pointwiseRule(*this, 1, true), /*dy=*/2); }
