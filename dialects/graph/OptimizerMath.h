// Checks and scalar arithmetic that several optimizers share.
#pragma once

#include "dialects/graph/Points.h"

#include "dialects/graph/Verify.h"

#include <cmath>

namespace dtc::graph {

// Fails unless 0 <= value < 1.
inline llvm::LogicalResult checkDecay(mlir::Operation *op, llvm::StringRef name, double value) {
  if (value >= 0 && value < 1)
    return mlir::success();
  return op->emitOpError() << "'" << name << "' is " << numberText(value)
                           << ", but a number from 0 to below 1 is wanted";
}

// Fails unless 0 <= value and value is finite.
inline llvm::LogicalResult checkNotNegative(mlir::Operation *op, llvm::StringRef name,
                                            double value) {
  if (value >= 0 && value <= std::numeric_limits<double>::max())
    return mlir::success();
  return op->emitOpError() << "'" << name << "' is " << numberText(value)
                           << ", but 0 or more is wanted";
}

// Fails unless 0 < epsilon < 1.
inline llvm::LogicalResult checkEpsilon(mlir::Operation *op, double epsilon) {
  if (epsilon > 0 && epsilon < 1)
    return mlir::success();
  return op->emitOpError() << "'epsilon' is " << numberText(epsilon)
                           << ", but a number above 0 and below 1 is wanted";
}

// Returns an i1 that is true if a step is applied; `apply` is 0 or 1.
inline mlir::Value isApplied(PointBuilder &b, mlir::Value apply) {
  return b.compare(mlir::arith::CmpFPredicate::ONE, apply, b.number(0));
}

// Returns 1 - beta^step, by expm1 so that it does not cancel for beta near 1.
inline mlir::Value biasCorrection(PointBuilder &b, double beta, mlir::Value step) {
  if (beta == 0)
    return b.number(1);
  return b.neg(b.expm1(b.mul(step, b.number(std::log(beta)))));
}

// Returns beta * old + (1 - beta) * value.
inline mlir::Value average(PointBuilder &b, double beta, mlir::Value old, mlir::Value value) {
  return b.add(b.mul(old, b.number(beta)), b.mul(value, b.number(1 - beta)));
}

// The moments m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, which start at zero. The
// change is m' / (sqrt(v') + epsilon), where m' and v' are divided by 1 - beta^step, with epsilon
// outside of the root as in PyTorch. Source: Kingma and Ba 2014, arXiv:1412.6980, algorithm 1.
struct AdamMoments {
  mlir::Value first, second, change;
};
// Computes the new moments and the change of one element.
inline AdamMoments adamMoments(PointBuilder &b, mlir::Value grad, mlir::Value expAvg,
                               mlir::Value expAvgSq, mlir::Value step, double beta1, double beta2,
                               double epsilon) {
  mlir::Value first = average(b, beta1, expAvg, grad);
  mlir::Value second = average(b, beta2, expAvgSq, b.mul(grad, grad));
  mlir::Value mean = b.div(first, biasCorrection(b, beta1, step));
  mlir::Value deviation = b.sqrt(b.div(second, biasCorrection(b, beta2, step)));
  return {first, second, b.div(mean, b.add(deviation, b.number(epsilon)))};
}

} // namespace dtc::graph
