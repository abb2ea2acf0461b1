// Emits the Philox4x32-10 random number generator as integer arithmetic.
#include "dialects/graph/Points.h"

using namespace mlir;
using namespace dtc::graph;

// Words are numbers below 2^32 in lanes of 64 bits: x86 multiplies the low halves of such lanes at once
// (vpmuludq), where both halves of a product of 32-bit lanes take three instructions and shuffles.
static Value word(ImplicitLocOpBuilder &builder, uint32_t value) {
  return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
}

static Value high(ImplicitLocOpBuilder &builder, Value product) {
  Value half = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(32));
  return arith::ShRUIOp::create(builder, product, half);
}

static Value low(ImplicitLocOpBuilder &builder, Value value) {
  return arith::AndIOp::create(builder, value, word(builder, 0xFFFFFFFF));
}

static Value mix(ImplicitLocOpBuilder &builder, Value a, Value b, Value c) {
  Value ab = arith::XOrIOp::create(builder, a, b);
  return arith::XOrIOp::create(builder, ab, c);
}

Value dtc::graph::buildPhilox(ImplicitLocOpBuilder &builder, Value key,
                              std::array<Value, 4> counter) {
  Value key0 = low(builder, key), key1 = high(builder, key);
  for (Value &each : counter)
    each = arith::ExtUIOp::create(builder, builder.getI64Type(), each);
  // Seven rounds pass BigCrush, ten leave a margin and are what all libraries do. Between rounds
  // the key grows by the golden ratio and by sqrt(3) - 1, as 32-bit fractions; the multipliers are
  // those of the authors' Random123.
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = low(builder, arith::AddIOp::create(builder, key0, word(builder, 0x9E3779B9)));
      key1 = low(builder, arith::AddIOp::create(builder, key1, word(builder, 0xBB67AE85)));
    }
    Value first = arith::MulIOp::create(builder, counter[0], word(builder, 0xD2511F53));
    Value second = arith::MulIOp::create(builder, counter[2], word(builder, 0xCD9E8D57));
    counter = {mix(builder, high(builder, second), counter[1], key0), low(builder, second),
               mix(builder, high(builder, first), counter[3], key1), low(builder, first)};
  }
  return arith::TruncIOp::create(builder, builder.getI32Type(), counter[0]);
}
