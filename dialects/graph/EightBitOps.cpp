// Roundings to 8 bits: checks, rules, gradients and scalar bodies.
#include "dialects/graph/EightBitOps.h"

#include "dialects/graph/BitPoints.h"
#include "dialects/graph/Points.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

#include <cmath>

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/EightBitOps.cpp.inc"

#include "dialects/graph/EightBitEnums.cpp.inc"

namespace {

constexpr int kFractionBits = 23, kExponentBias = 127; // of f32
constexpr int64_t kExponentOfInfinity = int64_t(255) << kFractionBits;

LogicalResult checkExponents(Operation *op, RankedTensorType type) {
  if (!type.getElementType().isF16())
    return success();
  return op->emitOpError("rounds f16, whose exponents are fewer than those of a scale; f32 or "
                         "bf16 is wanted");
}

// Returns the bits of the largest power of two by which `amax` stays within the format. The
// largest number is 1.75 times a power of two, so a larger fraction takes the next exponent.
Value scaleBits(BitPoints &words, Value amax, const EightBitFacts &facts) {
  constexpr int64_t aboveLargestFraction = 0x7fffff - 0x600000;
  constexpr int64_t one = int64_t(kExponentBias) << kFractionBits;
  Value bits = words.of(amax);
  Value exponent = words.mask(words.add(bits, words.word(aboveLargestFraction)), 0x7f800000);
  int64_t least = kExponentBias + facts.largestExponent - kLargestScaleExponent;
  exponent = words.most(exponent, least << kFractionBits);
  // Numbers above 1.75 * 2^127 saturate rather than become 2^128, which f32 lacks.
  exponent = words.least(exponent, kExponentOfInfinity - (int64_t(1) << kFractionBits));
  // Wraps around as i32 in between; the difference itself is the bits of a normal number.
  int64_t both = (2 * kExponentBias + facts.largestExponent) * (int64_t(1) << kFractionBits);
  Value scale = words.sub(words.word(both), exponent);
  return words.select(words.isBelow(bits, kExponentOfInfinity), scale, words.word(one));
}

// Returns `magnitude`, 0 or more, rounded to the format and not above its largest number.
Value roundMagnitude(PointBuilder &b, BitPoints &words, Value magnitude,
                     const EightBitFacts &facts) {
  int dropped = kFractionBits - facts.fractionBits;
  Value bits = words.of(magnitude);
  Value isOdd = words.mask(words.right(bits, dropped), 1);
  Value half = words.word((int64_t(1) << (dropped - 1)) - 1);
  Value normal =
      words.number(words.mask(words.add(words.add(bits, half), isOdd), -(int64_t(1) << dropped)));
  // The last bit of this number is the step between numbers below the least normal one.
  double step = std::ldexp(1.0, facts.leastExponent - facts.fractionBits + kFractionBits);
  Value subnormal = b.sub(b.add(magnitude, b.number(step)), b.number(step));
  Value isSmall = b.compare(arith::CmpFPredicate::OLT, magnitude,
                            b.number(std::ldexp(1.0, facts.leastExponent)));
  Value largest = b.number(std::ldexp(1.75, facts.largestExponent));
  return b.min(b.select(isSmall, subnormal, normal), largest);
}

} // namespace

LogicalResult AmaxOp::verify() {
  RankedTensorType x = tensorType(getX()), result = tensorType(getResult());
  if (failed(checkAtLeastDims(*this, "x", x, result.getRank())) || // amax_c1
      failed(DimList()                                             // amax_c1
                 .dims("x", x, 0, result.getRank())
                 .check(*this, "result", result)))
    return failure();
  return checkF32(*this, "result", result); // amax_c2
}

// Zeros change no maximum of magnitudes.
OpRule AmaxOp::getRule() {
  RuleBuilder builder;
  int64_t kept = tensorType(getResult()).getRank();
  TensorLoops first = builder.loops(getX(), 0, kept);
  builder.operand(first + builder.loops(getX(), kept, -1, LoopKind::Max)).result(first);
  return builder.flops(2).zeroPreserving().take();
}

LogicalResult QuantiseOp::verify() { return checkExponents(*this, getType()); } // quantise_c1

OpRule QuantiseOp::getRule() { return pointwiseRule(*this, 12, true); }

LogicalResult QuantiseOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (needed[0])
    grads[0] = resultGrads[0];
  return success();
}

SmallVector<Value> QuantiseOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                          ValueRange) {
  PointBuilder b(builder, loc);
  BitPoints words(b);
  EightBitFacts facts = factsOf(getFormat());
  constexpr int64_t one = int64_t(2 * kExponentBias) << kFractionBits; // bits of s and of 1 / s
  Value x = b.in(operands[0]), scale = scaleBits(words, operands[1], facts);
  Value magnitude = b.abs(x);
  Value rounded = roundMagnitude(b, words, b.mul(magnitude, words.number(scale)), facts);
  Value inverse = words.number(words.sub(words.word(one), scale));
  Value result = b.copySign(b.mul(rounded, inverse), x);
  Value isFinite = b.compare(arith::CmpFPredicate::OLT, magnitude,
                             b.number(std::numeric_limits<double>::infinity()));
  Value none = b.number(std::numeric_limits<double>::quiet_NaN());
  return {b.out(b.select(isFinite, result, none), getType())};
}

LogicalResult QuantiseGradientOp::verify() {
  return checkExponents(*this, getType()); // quantise_gradient_c1
}

// No partial sum passes: the gradient takes the way back, and its rounding is not linear.
OpRule QuantiseGradientOp::getRule() { return pointwiseRule(*this, 0, true); }

LogicalResult QuantiseGradientOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                                ArrayRef<bool> needed,
                                                SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  Value dy = resultGrads[0];
  if (needed[0])
    grads[0] = QuantiseOp::create(builder, getLoc(), dy.getType(), dy,
                                  AmaxOp::create(builder, getLoc(), dy), getFormat(), false);
  return success();
}

OpFoldResult QuantiseGradientOp::fold(FoldAdaptor) { return getX(); }
