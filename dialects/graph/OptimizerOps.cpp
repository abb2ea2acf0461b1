// Checks of the optimizer ops.
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Fails unless 0 <= value < 1.
static LogicalResult checkDecay(Operation *op, StringRef name, double value) {
  if (value >= 0 && value < 1)
    return success();
  return op->emitOpError() << "'" << name << "' is " << numberText(value)
                           << ", but a number from 0 to below 1 is wanted";
}

static LogicalResult checkNotNegative(Operation *op, StringRef name, double value) {
  if (value >= 0 && value <= std::numeric_limits<double>::max())
    return success();
  return op->emitOpError() << "'" << name << "' is " << numberText(value)
                           << ", but 0 or more is wanted";
}

// At a decay of 1 averages would never move, and the bias correction 1 / (1 - beta^step) would be 1
// / 0. Without an epsilon a gradient of 0 gives 0 / 0.
LogicalResult AdamWOp::verify() {
  if (failed(checkDecay(*this, "beta1", getBeta1().convertToDouble())) || // adamw_c1
      failed(checkDecay(*this, "beta2", getBeta2().convertToDouble())) || // adamw_c1
      failed(
          checkNotNegative(*this, "weight_decay", getWeightDecay().convertToDouble()))) // adamw_c3
    return failure();
  double epsilon = getEpsilon().convertToDouble();
  if (epsilon > 0 && epsilon < 1)
    return success();
  return emitOpError() << "'epsilon' is " << numberText(epsilon) // adamw_c2
                       << ", but a number above 0 and below 1 is wanted";
}

LogicalResult SgdOp::verify() {
  if (failed(checkDecay(*this, "momentum", getMomentum().convertToDouble()))) // sgd_c1
    return failure();
  return checkNotNegative(*this, "weight_decay", getWeightDecay().convertToDouble()); // sgd_c2
}

// 0 would stop training; not to clip is not to have the op.
LogicalResult ClipScaleOp::verify() {
  double norm = getMaxNorm().convertToDouble();
  if (norm > 0 && norm <= std::numeric_limits<double>::max())
    return success();
  return emitOpError() << "'max_norm' is " << numberText(norm)
                       << ", but a number above 0 is wanted"; // clip_scale_c1
}

LogicalResult LearningRateOp::verify() {
  if (static_cast<int64_t>(getWarmupSteps()) < 0) // learning_rate_c1
    return emitOpError() << "'warmup_steps' is " << static_cast<int64_t>(getWarmupSteps())
                         << ", but 0 or more is wanted";
  return checkRange(*this, "min_ratio", getMinRatio().convertToDouble(), 0, 1); // learning_rate_c2
}

#define GET_OP_CLASSES
#include "dialects/graph/OptimizerOps.cpp.inc"
