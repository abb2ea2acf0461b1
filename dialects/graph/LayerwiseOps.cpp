// Optimizers that update a tensor as a whole: checks, rules and scalar bodies.
#include "dialects/graph/LayerwiseOps.h"

#include "dialects/graph/OptimizerMath.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

LogicalResult LambDirectionOp::verify() {
  if (failed(checkDecay(*this, "beta1", getBeta1().convertToDouble())) || // lamb_direction_c1
      failed(checkDecay(*this, "beta2", getBeta2().convertToDouble())) || // lamb_direction_c1
      failed(checkNotNegative(*this, "weight_decay",
                              getWeightDecay().convertToDouble()))) // lamb_direction_c3
    return failure();
  return checkEpsilon(*this, getEpsilon().convertToDouble()); // lamb_direction_c2
}

LogicalResult TrustRatioOp::verify() {
  double coefficient = getCoefficient().convertToDouble();
  if (!(coefficient > 0 && coefficient <= std::numeric_limits<double>::max())) // trust_ratio_c1
    return emitOpError() << "'coefficient' is " << numberText(coefficient)
                         << ", but a number above 0 is wanted";
  return checkNotNegative(*this, "decay", getDecay().convertToDouble()); // trust_ratio_c2
}

LogicalResult LarsOp::verify() {
  if (failed(checkDecay(*this, "momentum", getMomentum().convertToDouble()))) // lars_c1
    return failure();
  return checkNotNegative(*this, "weight_decay", getWeightDecay().convertToDouble()); // lars_c2
}

LogicalResult WholeMatrixOp::verify() {
  int64_t batch = getBatch(), dims = getX().getType().getRank();
  if (batch < 0 || dims - batch < 2) // whole_matrix_c1
    return emitOpError() << "'batch' is " << batch << ", but 0 to " << dims - 2
                         << " is wanted, as a matrix has two of the " << dims << " dims";
  return success();
}

// Rows and columns are whole. An op that is not linear reads the matrix: sums are finished first.
OpRule WholeMatrixOp::getRule() {
  RuleBuilder builder;
  auto batch = static_cast<int64_t>(getBatch());
  TensorLoops dims =
      builder.loops(getX(), 0, batch) + builder.loops(getX(), batch, -1, LoopKind::Whole);
  builder.operand(dims).result(dims);
  return builder.flops(0).kind(OpKind::View).zeroPreserving().take();
}

// The ops are pointwise in parameter and state, as AdamW. The ratio is not linear in the squares:
// it needs finished norms.
OpRule LambDirectionOp::getRule() { return pointwiseRule(*this, 18, true); }
OpRule TrustRatioOp::getRule() { return pointwiseRule(*this, 6, false); }
OpRule DescendOp::getRule() { return pointwiseRule(*this, 4, true); }
OpRule LarsOp::getRule() { return pointwiseRule(*this, 8, true); }

// Source: You et al. 2020, arXiv:1904.00962, algorithm 2: moments as Adam's, plus weight decay.
SmallVector<Value> LambDirectionOp::buildPoint(OpBuilder &builder, Location loc,
                                               ValueRange operands, ValueRange) {
  PointBuilder b(builder, loc);
  SmallVector<Value> x = llvm::map_to_vector(operands, [&](Value value) { return b.in(value); });
  Value param = x[0], step = x[4], applied = isApplied(b, x[6]);
  AdamMoments moments =
      adamMoments(b, b.mul(x[1], x[5]), x[2], x[3], step, getBeta1().convertToDouble(),
                  getBeta2().convertToDouble(), getEpsilon().convertToDouble());
  Value direction = moments.change;
  if (double decay = getWeightDecay().convertToDouble(); decay != 0)
    direction = b.add(direction, b.mul(param, b.number(decay)));
  return {b.out(direction, getDirection().getType()),
          b.out(b.select(applied, moments.first, x[2]), getNewExpAvg().getType()),
          b.out(b.select(applied, moments.second, x[3]), getNewExpAvgSq().getType())};
}

// Returns 1 for a norm of 0: a parameter that is all zero, as biases start, would otherwise never
// move; a zero direction moves nothing, whatever its ratio.
SmallVector<Value> TrustRatioOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                            ValueRange) {
  PointBuilder b(builder, loc);
  Value norm = b.sqrt(operands[0]), divisor = b.sqrt(operands[1]);
  Value zero = b.number(0), one = b.number(1);
  Value moves = b.compare(arith::CmpFPredicate::OGT, divisor, zero);
  if (double decay = getDecay().convertToDouble(); decay != 0)
    divisor = b.add(divisor, b.mul(norm, b.number(decay)));
  Value ratio = b.div(b.mul(norm, b.number(getCoefficient().convertToDouble())), divisor);
  Value isThere = b.compare(arith::CmpFPredicate::OGT, norm, zero);
  return {b.select(isThere, b.select(moves, ratio, one), one)};
}

SmallVector<Value> DescendOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                         ValueRange) {
  PointBuilder b(builder, loc);
  SmallVector<Value> x = llvm::map_to_vector(operands, [&](Value value) { return b.in(value); });
  Value next = b.sub(x[0], b.mul(b.mul(x[2], x[3]), x[1]));
  return {b.out(b.select(isApplied(b, x[4]), next, x[0]), getNewParam().getType())};
}

// v = m v + rate ratio (g + decay w); w -= v. Source: You et al. 2017, arXiv:1708.03888, algorithm
// 1.
SmallVector<Value> LarsOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                      ValueRange) {
  PointBuilder b(builder, loc);
  SmallVector<Value> x = llvm::map_to_vector(operands, [&](Value value) { return b.in(value); });
  Value param = x[0], grad = b.mul(x[1], x[4]), applied = isApplied(b, x[6]);
  if (double decay = getWeightDecay().convertToDouble(); decay != 0)
    grad = b.add(grad, b.mul(param, b.number(decay)));
  Value buffer =
      b.add(b.mul(x[2], b.number(getMomentum().convertToDouble())), b.mul(b.mul(x[3], x[5]), grad));
  Value next = b.sub(param, buffer);
  return {b.out(b.select(applied, next, param), getNewParam().getType()),
          b.out(b.select(applied, buffer, x[2]), getNewBuffer().getType())};
}

#define GET_OP_CLASSES
#include "dialects/graph/LayerwiseOps.cpp.inc"
