// Scalar bodies of the optimizer ops.
#include "dialects/graph/OptimizerMath.h"
#include "dialects/graph/OptimizerOps.h"

using namespace mlir;
using namespace dtc::graph;

// Returns param - lr * (change + decay * param).
static Value descend(PointBuilder &b, Value param, Value lr, Value change, double decay) {
  if (decay != 0)
    change = b.add(change, b.mul(param, b.number(decay)));
  return b.sub(param, b.mul(lr, change));
}

// p -= lr (m' / (sqrt(v') + epsilon) + decay p). g is scaled first, by clipping and by the divisor
// of the loss's mean. Source: Loshchilov and Hutter 2017, arXiv:1711.05101, algorithm 2.
SmallVector<Value> AdamWOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                       ValueRange) {
  PointBuilder b(builder, loc);
  SmallVector<Value> x = llvm::map_to_vector(operands, [&](Value value) { return b.in(value); });
  Value param = x[0], lr = x[4], step = x[5];
  Value grad = b.mul(x[1], x[6]);
  AdamMoments moments = adamMoments(b, grad, x[2], x[3], step, getBeta1().convertToDouble(),
                                    getBeta2().convertToDouble(), getEpsilon().convertToDouble());
  Value next = descend(b, param, lr, moments.change, getWeightDecay().convertToDouble());
  Value applied = isApplied(b, x[7]);
  return {b.out(b.select(applied, next, param), getNewParam().getType()),
          b.out(b.select(applied, moments.first, x[2]), getNewExpAvg().getType()),
          b.out(b.select(applied, moments.second, x[3]), getNewExpAvgSq().getType())};
}

// b = momentum b + g; p -= lr (b + decay p). As torch.optim.SGD without dampening, except that
// decay does not go through the buffer. Momentum: Sutskever et al. 2013, section 2.
SmallVector<Value> SgdOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                     ValueRange) {
  PointBuilder b(builder, loc);
  SmallVector<Value> x = llvm::map_to_vector(operands, [&](Value value) { return b.in(value); });
  Value grad = b.mul(x[1], x[4]);
  Value buffer = b.add(b.mul(x[2], b.number(getMomentum().convertToDouble())), grad);
  Value next = descend(b, x[0], x[3], buffer, getWeightDecay().convertToDouble());
  Value applied = isApplied(b, x[5]);
  return {b.out(b.select(applied, next, x[0]), getNewParam().getType()),
          b.out(b.select(applied, buffer, x[2]), getNewBuffer().getType())};
}

// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. Source: Pascanu, Mikolov and
// Bengio 2012, arXiv:1211.5063, algorithm 1.
SmallVector<Value> ClipScaleOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                           ValueRange) {
  PointBuilder b(builder, loc);
  Value ratio = b.div(b.number(getMaxNorm().convertToDouble()), b.add(operands[0], b.number(1e-6)));
  return {b.min(b.number(1), ratio)};
}

// Compares |x| with infinity: false for NaN.
SmallVector<Value> IsFiniteOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                          ValueRange) {
  PointBuilder b(builder, loc);
  Value infinity = b.number(std::numeric_limits<double>::infinity());
  Value size = b.max(operands[0], b.neg(operands[0]));
  Value finite = b.compare(arith::CmpFPredicate::OLT, size, infinity);
  return {b.select(finite, b.number(1), b.number(0))};
}

SmallVector<Value> NextLossScaleOp::buildPoint(OpBuilder &builder, Location loc,
                                               ValueRange operands, ValueRange) {
  PointBuilder b(builder, loc);
  Value scale = operands[0], applied = isApplied(b, operands[2]);
  Value zero = b.number(0), one = b.number(1);
  Value good = b.add(operands[1], one);
  Value interval = b.number(static_cast<double>(getGrowthInterval()));
  Value grows = b.compare(arith::CmpFPredicate::OGE, good, interval);
  Value larger = b.min(b.mul(scale, b.number(2)), b.number(getLargest().convertToDouble()));
  Value smaller = b.max(b.mul(scale, b.number(0.5)), one);
  return {b.select(applied, b.select(grows, larger, scale), smaller),
          b.select(applied, b.select(grows, zero, good), zero)};
}

// 1 / x, or 0 for 0: the mean of nothing counts as no loss and no gradient.
SmallVector<Value> InverseOrZeroOp::buildPoint(OpBuilder &builder, Location loc,
                                               ValueRange operands, ValueRange) {
  PointBuilder b(builder, loc);
  Value zero = b.number(0);
  Value isZero = b.compare(arith::CmpFPredicate::OEQ, operands[0], zero);
  return {b.select(isZero, zero, b.div(b.number(1), operands[0]))};
}

// Rises from base / warmup to base, then stays or falls by half a cosine wave: base (ratio + (1 -
// ratio) (1 + cos(pi t)) / 2), where t is the share of the steps after warmup, to base * ratio at
// the last step. Steps count from 1. Source: Loshchilov and Hutter 2016, arXiv:1608.03983, equation
// 5, without restarts; the warmup of Goyal et al. 2017, arXiv:1706.02677, section 2.2.
SmallVector<Value> LearningRateOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                              ValueRange) {
  PointBuilder b(builder, loc);
  Value step = operands[0], base = operands[1], total = operands[2];
  Value one = b.number(1), warmup = b.number(static_cast<double>(getWarmupSteps()));
  Value rate = base;
  if (getKind() == ScheduleKind::Cosine) {
    double ratio = getMinRatio().convertToDouble();
    Value length = b.max(b.sub(total, warmup), one);
    Value progress = b.min(b.max(b.div(b.sub(step, warmup), length), b.number(0)), one);
    Value wave = b.add(one, b.cos(b.mul(progress, b.number(M_PI))));
    rate = b.mul(base, b.add(b.number(ratio), b.mul(wave, b.number((1 - ratio) / 2))));
  }
  if (getWarmupSteps() == 0)
    return {rate};
  Value rising = b.div(b.mul(base, step), warmup);
  return {b.select(b.compare(arith::CmpFPredicate::OLE, step, warmup), rising, rate)};
}
