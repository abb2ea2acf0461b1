// Checks the optimizer ops.
#include "dialects/graph/OptimizerOps.h"
#include "dialects/graph/OptimizerMath.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// With a decay of 1 the averages would never change, and the bias correction 1 / (1 - beta^step)
// would be 1 / 0. Without an epsilon a gradient of 0 gives 0 / 0.
LogicalResult AdamWOp::verify() {
  if (failed(checkDecay(*this, "beta1", getBeta1().convertToDouble())) || // adamw_c1
      failed(checkDecay(*this, "beta2", getBeta2().convertToDouble())) || // adamw_c1
      failed(
          checkNotNegative(*this, "weight_decay", getWeightDecay().convertToDouble()))) // adamw_c3
    return failure();
  return checkEpsilon(*this, getEpsilon().convertToDouble()); // adamw_c2
}

LogicalResult SgdOp::verify() {
  if (failed(checkDecay(*this, "momentum", getMomentum().convertToDouble()))) // sgd_c1
    return failure();
  return checkNotNegative(*this, "weight_decay", getWeightDecay().convertToDouble()); // sgd_c2
}

// Refuses 0, which would stop training; a step without clipping has no such op.
LogicalResult ClipScaleOp::verify() {
  double norm = getMaxNorm().convertToDouble();
  if (norm > 0 && norm <= std::numeric_limits<double>::max())
    return success();
  return emitOpError() << "'max_norm' is " << numberText(norm)
                       << ", but a number above 0 is wanted"; // clip_scale_c1
}

LogicalResult NextLossScaleOp::verify() {
  if (static_cast<int64_t>(getGrowthInterval()) < 1) // next_loss_scale_c1
    return emitOpError() << "'growth_interval' is " << static_cast<int64_t>(getGrowthInterval())
                         << ", but 1 or more is wanted";
  double largest = getLargest().convertToDouble();
  if (largest >= 1 && largest <= std::numeric_limits<double>::max())
    return success();
  return emitOpError() << "'largest' is " << numberText(largest)
                       << ", but a number of 1 or more is wanted"; // next_loss_scale_c2
}

LogicalResult LearningRateOp::verify() {
  if (static_cast<int64_t>(getWarmupSteps()) < 0) // learning_rate_c1
    return emitOpError() << "'warmup_steps' is " << static_cast<int64_t>(getWarmupSteps())
                         << ", but 0 or more is wanted";
  return checkRange(*this, "min_ratio", getMinRatio().convertToDouble(), 0, 1); // learning_rate_c2
}

#define GET_OP_CLASSES
#include "dialects/graph/OptimizerOps.cpp.inc"
