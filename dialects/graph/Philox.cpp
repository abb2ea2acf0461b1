// Emits the Philox4x32-10 random number generator as integer arithmetic.
#include "dialects/graph/Points.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

struct HighLow {
  Value high, low;
};

} // namespace

static Value word(ImplicitLocOpBuilder &builder, uint32_t value) {
  return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

// Both halves of the product of 32-bit numbers.
static HighLow multiply(ImplicitLocOpBuilder &builder, Value a, uint32_t b) {
  auto product = arith::MulUIExtendedOp::create(builder, a, word(builder, b));
  return {product.getHigh(), product.getLow()};
}

static Value mix(ImplicitLocOpBuilder &builder, Value a, Value b, Value c) {
  Value ab = arith::XOrIOp::create(builder, a, b);
  return arith::XOrIOp::create(builder, ab, c);
}

Value dtc::graph::buildPhilox(ImplicitLocOpBuilder &builder, Value key,
                              std::array<Value, 4> counter) {
  Type i32 = builder.getI32Type();
  Value key0 = arith::TruncIOp::create(builder, i32, key);
  Value half = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(32));
  Value key1 =
      arith::TruncIOp::create(builder, i32, arith::ShRUIOp::create(builder, key, half).getResult());
  // Seven rounds pass BigCrush, ten leave a margin and are what all libraries do. Between rounds
  // the key grows by the golden ratio and by sqrt(3) - 1, as 32-bit fractions; the multipliers are
  // those of the authors' Random123.
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = arith::AddIOp::create(builder, key0, word(builder, 0x9E3779B9));
      key1 = arith::AddIOp::create(builder, key1, word(builder, 0xBB67AE85));
    }
    HighLow first = multiply(builder, counter[0], 0xD2511F53);
    HighLow second = multiply(builder, counter[2], 0xCD9E8D57);
    counter = {mix(builder, second.high, counter[1], key0), second.low,
               mix(builder, first.high, counter[3], key1), first.low};
  }
  return counter[0];
}
