// Rules of the optimizer ops.
#include "dialects/graph/RuleBuilder.h"

using namespace mlir;
using namespace dtc::graph;

OpRule AdamWOp::getRule() { return pointwiseRule(*this, 18, true); }
OpRule SgdOp::getRule() { return pointwiseRule(*this, 6, true); }
OpRule ClipScaleOp::getRule() { return pointwiseRule(*this, 3, false); }
OpRule InverseOrZeroOp::getRule() { return pointwiseRule(*this, 2, true); }
OpRule LearningRateOp::getRule() { return pointwiseRule(*this, 20, false); }

OpRule SumSquaresOp::getRule() {
  RuleBuilder builder;
  builder.operand(builder.loops(getX(), 0, -1, LoopKind::Sum)).result({});
  return builder.flops(2).zeroPreserving().take();
}
