// Rules of the optimizer ops.
#include "dialects/graph/OptimizerOps.h"
#include "dialects/graph/RuleBuilder.h"

using namespace mlir;
using namespace dtc::graph;

// The updates are pointwise in parameter and state, so that state can be split further than its
// parameter (ZeRO: Rajbhandari et al. 2019, arXiv:1910.02054). A zero gradient of a zero parameter
// leaves zeros: padding stays zero.
OpRule AdamWOp::getRule() { return pointwiseRule(*this, 18, true); }
OpRule SgdOp::getRule() { return pointwiseRule(*this, 6, true); }
OpRule ClipScaleOp::getRule() { return pointwiseRule(*this, 3, false); }
OpRule IsFiniteOp::getRule() { return pointwiseRule(*this, 2, false); }
OpRule NextLossScaleOp::getRule() { return pointwiseRule(*this, 8, false); }
OpRule InverseOrZeroOp::getRule() { return pointwiseRule(*this, 2, true); }
OpRule LearningRateOp::getRule() { return pointwiseRule(*this, 20, false); }

// sum(x^2) over all of x. Not linear: the norm needs finished gradients, of which each rank has a
// shard.
OpRule SumSquaresOp::getRule() {
  RuleBuilder builder;
  builder.operand(builder.loops(getX(), 0, -1, LoopKind::Sum)).result({});
  return builder.flops(2).zeroPreserving().take();
}
