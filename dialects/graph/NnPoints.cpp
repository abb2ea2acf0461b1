// Scalar bodies of the pointwise layers: dropout and the table of rotary position embedding.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/RandomOps.h"
#include "dialects/graph/RandomPoints.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// y = kept ? x / (1 - p) : 0. The scale keeps the expectation, so that evaluation needs none
// (Srivastava et al. 2014). Philox is counted by element and step and keyed by the seed, so every
// rank, plan and backward pass draws the same mask, and no mask is saved (Salmon et al. 2011).
SmallVector<Value> DropoutOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                         ValueRange indices) {
  double p = getP().convertToDouble();
  if (p == 0)
    return {operands[0]};
  PointBuilder b(builder, loc);
  Type i32 = builder.getI32Type();
  Value firstSample = indices[indices.size() - 2], stream = indices.back();
  // The batch index counts over the whole step, starting from the first sample of the micro-batch.
  ArrayRef<int64_t> shape = getGlobalShape() ? *getGlobalShape() : tensorType(getX()).getShape();
  Value element = globalElement(b.builder, shape, indices.drop_back(2), firstSample);
  auto word = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b.builder,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  Value step = arith::FPToUIOp::create(b.builder, i32, operands[2]);
  Value random =
      RandomWordOp::create(b.builder, i32, element,
                           arith::IndexCastOp::create(b.builder, i32, stream), step, operands[1]);
  // Keeps elements with random >= p 2^32; random is an integer, so the bound rounds up. Evaluation
  // keeps all and scales by 1.
  double bound = std::min(std::ceil(std::ldexp(p, 32)), 4294967295.0);
  Value evaluates = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, step, word(0));
  Value least = b.select(evaluates, word(0), word(static_cast<uint32_t>(bound)));
  Value scale = b.select(evaluates, b.number(1), b.number(1 / (1 - p)));
  Value kept = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::uge, random, least);
  return {b.out(b.select(kept, b.mul(b.in(operands[0]), scale), b.number(0)), getType())};
}

bool DropoutOp::needsIndices() { return true; }

// Returns frequencies[index] as a tree of selects: it needs no memory and vectorises like any
// arithmetic.
static Value pickFrequency(PointBuilder &b, Value index, ArrayRef<double> frequencies,
                           int64_t first) {
  if (frequencies.size() == 1)
    return b.number(frequencies[0]);
  size_t half = frequencies.size() / 2;
  Value low = pickFrequency(b, index, frequencies.take_front(half), first);
  Value high = pickFrequency(b, index, frequencies.drop_front(half), first + half);
  Value middle =
      arith::ConstantOp::create(b.builder, b.builder.getIntegerAttr(index.getType(), first + half));
  Value isLow = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, index, middle);
  return b.select(isLow, low, high);
}

// Returns cos and sin of position * frequency, in f32 as in Hugging Face's tables, whatever the
// type of the model. Source: Su et al. 2021, arXiv:2104.09864, section 3.4.2.
SmallVector<Value> RotaryTableOp::buildPoint(OpBuilder &builder, Location loc, ValueRange,
                                             ValueRange indices) {
  PointBuilder b(builder, loc);
  Type i32 = builder.getI32Type();
  Value position = arith::IndexCastOp::create(b.builder, i32, indices[0]);
  Value pair = arith::IndexCastOp::create(b.builder, i32, indices[1]);
  Value frequency = pickFrequency(b, pair, *getInverseFrequencies(), 0);
  Value angle =
      b.mul(arith::SIToFPOp::create(b.builder, builder.getF32Type(), position), frequency);
  return {b.out(b.cos(angle), getCos().getType()), b.out(b.sin(angle), getSin().getType())};
}

bool RotaryTableOp::needsIndices() { return true; }

// target == ignoring ? 0 : 1
SmallVector<Value> CountedOp::buildPoint(OpBuilder &builder, Location loc, ValueRange operands,
                                         ValueRange) {
  PointBuilder b(builder, loc);
  Type type = operands[0].getType();
  Value ignored = arith::ConstantOp::create(
      b.builder, builder.getIntegerAttr(type, static_cast<int64_t>(getIgnoring())));
  Value counts = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, operands[0], ignored);
  return {b.select(counts, b.number(1), b.number(0))};
}
