// Forms of optimizer state in few bits: checks, rules and scalar bodies.
#include "dialects/graph/StoredOps.h"

#include "dialects/graph/BitPoints.h"
#include "dialects/graph/RandomOps.h"
#include "dialects/graph/RandomPoints.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// A code has three bits of fraction, so that it is the bits of an f32 above the lowest 20, less
// those of the number of code 0. The largest code is 1 times the scale, whose bits are 127 * 8.
constexpr int kDroppedBits = 20, kCodesOfOne = 127 * 8;
constexpr int kLargestCode = 127, kLargestCodeOfSquare = 255;
constexpr int kSignBit = 7, kRandomBits = 16;

// Builds the scales of blocks.
class Bits : public BitPoints {
public:
  using BitPoints::BitPoints;

  // Returns the bits of the least power of two that is not below `largest`, which is 0 or more: the
  // exponent, rounded up; from 2^-126 to 2^127, and 0 for 0.
  Value scaleOf(Value largest) {
    Value exponent = mask(add(of(largest), word(0x7fffff)), 0x7f800000);
    return least(exponent, int64_t(254) << 23);
  }
  // Returns 1 / scale of the bits of a scale, exactly; a large number for 0.
  Value inverseOf(Value scale) { return number(sub(word(int64_t(254) << 23), scale)); }
};

// Returns the random word of the element, from the operands and indices of buildPoint.
Value drawWord(PointBuilder &b, ArrayRef<int64_t> shape, Value seed, Value step,
               ValueRange indices) {
  Type i32 = b.builder.getI32Type();
  Value element = globalElement(b.builder, shape, indices.drop_back(2), Value());
  Value count = arith::FPToUIOp::create(b.builder, i32, step);
  Value stream = arith::IndexCastOp::create(b.builder, i32, indices.back());
  return RandomWordOp::create(b.builder, i32, element, stream, count, seed);
}

// Fails unless `shape`, if present, has a size of 1 or more for each dim of `type`.
LogicalResult checkGlobalShape(Operation *op, std::optional<ArrayRef<int64_t>> shape,
                               RankedTensorType type) {
  if (!shape)
    return success();
  if (static_cast<int64_t>(shape->size()) != type.getRank())
    return op->emitOpError() << "has a 'global_shape' of " << shape->size() << " dims, but "
                             << type.getRank() << " are wanted";
  for (const auto &[dim, size] : llvm::enumerate(*shape))
    if (size < 1)
      return op->emitOpError() << "has dim " << dim << " of 'global_shape' of " << size
                               << ", but 1 or more is wanted";
  return success();
}

// Fails unless the largest magnitudes have a number for each block of the last dim of `type`.
LogicalResult checkLargest(Operation *op, RankedTensorType type, RankedTensorType largest) {
  if (failed(checkAtLeastDims(op, "codes", type, 1)) || failed(checkF32(op, "largest", largest)))
    return failure();
  DimList blocks;
  blocks.dims("codes", type, 0, type.getRank() - 1).size(1, "that of a block");
  return blocks.check(op, "largest", largest);
}

} // namespace

LogicalResult RoundRandomlyOp::verify() {
  auto count = static_cast<int64_t>(getValues().size());
  if (count < 1 || count > 2 || count != static_cast<int64_t>(getRounded().size()))
    return emitOpError() << "rounds " << count << " values to " << getRounded().size()
                         << " results, but one or two of each are wanted"; // round_randomly_c1
  RankedTensorType type = tensorType(getValues().front());
  for (auto [value, rounded] : llvm::zip_equal(getValues(), getRounded())) {
    if (value.getType() != type || !type.getElementType().isF32()) // round_randomly_c1
      return emitOpError() << "rounds " << value.getType() << ", but one type in f32 is wanted";
    if (rounded.getType() != type.clone(BFloat16Type::get(getContext()))) // round_randomly_c2
      return emitOpError() << "rounds " << type << " to " << rounded.getType()
                           << ", but the same shape in bf16 is wanted";
  }
  if (failed(checkAtLeastDims(*this, "values", type, 1)) ||    // round_randomly_c3
      failed(checkGlobalShape(*this, getGlobalShape(), type))) // round_randomly_c3
    return failure();
  return checkWindows(*this, getWindows()); // round_randomly_c4
}

void RoundRandomlyOp::setInstance(uint64_t instance) {
  setId(getId() + kStreamsPerInstance * instance);
}

void RoundRandomlyOp::becomePartOf(ArrayRef<int64_t> shape) {
  if (!getGlobalShape())
    setGlobalShape(shape);
}

// Every index is needed: the random numbers are those of the whole tensor.
OpRule RoundRandomlyOp::getRule() {
  RuleBuilder builder;
  TensorLoops space = builder.loops(getValues().front());
  for (size_t value = 0; value < getValues().size(); ++value)
    builder.operand(space).result(space);
  builder.scalars(*this).indexed(space);
  return builder.flops(60).zeroPreserving().take(); // mostly for the random number
}

// Adds random bits below those that stay. A number that is rounded up carries into them.
SmallVector<Value> RoundRandomlyOp::buildPoint(OpBuilder &builder, Location loc,
                                               ValueRange operands, ValueRange indices) {
  PointBuilder b(builder, loc);
  Bits bits(b);
  size_t count = getValues().size();
  ArrayRef<int64_t> shape =
      getGlobalShape() ? *getGlobalShape() : tensorType(getValues().front()).getShape();
  Value word = drawWord(b, shape, operands[count], operands[count + 1], indices);
  SmallVector<Value> rounded;
  for (size_t i = 0; i < count; ++i) {
    Value random = i == 0 ? bits.mask(word, 0xffff) : bits.right(word, kRandomBits);
    Value up = bits.number(bits.mask(bits.add(bits.of(operands[i]), random), 0xffff0000));
    Value infinity = b.number(std::numeric_limits<double>::infinity());
    Value finite = b.compare(arith::CmpFPredicate::OLT, b.abs(operands[i]), infinity);
    rounded.push_back(b.out(b.select(finite, up, operands[i]), getRounded()[i].getType()));
  }
  return rounded;
}

bool RoundRandomlyOp::needsIndices() { return true; }

LogicalResult DecodeMomentsOp::verify() {
  RankedTensorType codes = tensorType(getCodes());
  if (failed(checkLargest(*this, codes, tensorType(getLargest())))) // decode_moments_c1
    return failure();
  DimList all;
  all.all("codes", codes);
  if (failed(all.check(*this, "exp_avg", tensorType(getExpAvg())))) // decode_moments_c2
    return failure();
  return checkF32(*this, "exp_avg", getExpAvg().getType()); // decode_moments_c2
}

OpRule DecodeMomentsOp::getRule() { return pointwiseRule(*this, 6, true); }

SmallVector<Value> DecodeMomentsOp::buildPoint(OpBuilder &builder, Location loc,
                                               ValueRange operands, ValueRange) {
  PointBuilder b(builder, loc);
  Bits bits(b);
  auto decoded = [&](unsigned i, int64_t largestCode, bool isSigned) {
    Value code = arith::ExtUIOp::create(b.builder, builder.getI32Type(), operands[i]);
    Value magnitude = isSigned ? bits.mask(code, largestCode) : code;
    Value share =
        bits.left(bits.add(magnitude, bits.word(kCodesOfOne - largestCode)), kDroppedBits);
    if (isSigned)
      share = bits.join(share, bits.left(bits.right(code, kSignBit), 31));
    Value number = b.mul(bits.number(share), bits.number(bits.scaleOf(operands[i + 2])));
    return b.select(bits.isBelow(magnitude, 1), b.number(0), number);
  };
  return {decoded(0, kLargestCode, true), decoded(1, kLargestCodeOfSquare, false)};
}

LogicalResult EncodeMomentsOp::verify() {
  RankedTensorType moments = tensorType(getExpAvg());
  if (failed(checkLargest(*this, moments, tensorType(getLargest())))) // encode_moments_c1
    return failure();
  DimList all;
  all.all("exp_avg", moments);
  if (failed(all.check(*this, "codes", tensorType(getCodes()))) || // encode_moments_c2
      failed(checkF32(*this, "exp_avg", moments)) ||               // encode_moments_c2
      failed(checkGlobalShape(*this, getGlobalShape(), moments)))  // encode_moments_c3
    return failure();
  return checkWindows(*this, getWindows()); // encode_moments_c4
}

void EncodeMomentsOp::setInstance(uint64_t instance) {
  setId(getId() + kStreamsPerInstance * instance);
}

void EncodeMomentsOp::becomePartOf(ArrayRef<int64_t> shape) {
  if (!getGlobalShape())
    setGlobalShape(shape);
}

OpRule EncodeMomentsOp::getRule() {
  OpRule rule = pointwiseRule(*this, 80, true);
  for (unsigned loop = 0; loop < rule.loops.size(); ++loop)
    rule.indexedLoops.push_back(loop);
  return rule;
}

// Adds random bits below those of the code, as RoundRandomlyOp. Below code 1 there is only 0: the
// first moment becomes one of them at random, the second moment is rounded up.
SmallVector<Value> EncodeMomentsOp::buildPoint(OpBuilder &builder, Location loc,
                                               ValueRange operands, ValueRange indices) {
  PointBuilder b(builder, loc);
  Bits bits(b);
  ArrayRef<int64_t> shape =
      getGlobalShape() ? *getGlobalShape() : tensorType(getExpAvg()).getShape();
  Value word = drawWord(b, shape, operands[4], operands[5], indices);
  auto encoded = [&](unsigned i, int64_t largestCode, bool isSigned) -> Value {
    Value random = isSigned ? bits.mask(word, 0xffff) : bits.right(word, kRandomBits);
    Value share = b.mul(operands[i], bits.inverseOf(bits.scaleOf(operands[i + 2])));
    Value magnitude = b.abs(share);
    int64_t ofZero = kCodesOfOne - largestCode;
    Value moved = bits.add(bits.of(magnitude), bits.left(random, kDroppedBits - kRandomBits));
    Value code = bits.sub(bits.right(moved, kDroppedBits), bits.word(ofZero));
    double one = std::ldexp(1 + (ofZero + 1) % 8 / 8.0, static_cast<int>((ofZero + 1) / 8) - 127);
    Value below;
    if (isSigned) {
      Value chance = b.mul(magnitude, b.number(std::ldexp(1 / one, kRandomBits)));
      Value drawn = arith::UIToFPOp::create(b.builder, builder.getF32Type(), random);
      below = b.compare(arith::CmpFPredicate::OLT, drawn, chance);
    } else {
      below = b.compare(arith::CmpFPredicate::OGT, magnitude, b.number(0));
    }
    code = b.select(bits.isBelow(code, 1), b.select(below, bits.word(1), bits.word(0)), code);
    code = bits.least(code, largestCode);
    if (isSigned)
      code = bits.join(code, bits.left(bits.right(bits.of(share), 31), kSignBit));
    return arith::TruncIOp::create(b.builder, builder.getI8Type(), code);
  };
  return {encoded(0, kLargestCode, true), encoded(1, kLargestCodeOfSquare, false)};
}

bool EncodeMomentsOp::needsIndices() { return true; }

#define GET_OP_CLASSES
#include "dialects/graph/StoredOps.cpp.inc"
