// Emits the Philox4x32-10 random number generator as integer arithmetic.
#include "dialects/graph/Philox.h"
#include "dialects/graph/ElementwiseOps.h"

#include "dialects/graph/Points.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// Holds 32-bit words in the low halves of 64 bits: x86 multiplies those of all lanes at once
// (vpmuludq), while the two halves of a product of 32-bit lanes take three instructions and
// shuffles. The high halves may hold anything: multiplications mask them, which costs nothing
// because vpmuludq reads only the low halves.
struct Words {
  Words(ImplicitLocOpBuilder &builder, Type type) : builder(builder), type(type) {}

  ImplicitLocOpBuilder &builder;
  Type type; // i64, or a vector of it

  llvm::SmallDenseMap<uint64_t, Value> constants; // caches constants, which all rounds share

  Value constant(uint32_t value) {
    Value &made = constants[value];
    if (!made)
      made = makeConstant(value);
    return made;
  }
  Value makeConstant(uint32_t value) {
    IntegerAttr number = builder.getI64IntegerAttr(value);
    if (auto lanes = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(builder, DenseElementsAttr::get(lanes, number.getValue()));
    return arith::ConstantOp::create(builder, number);
  }
  Value add(Value a, uint32_t b) { return arith::AddIOp::create(builder, a, constant(b)); }
  Value high(Value a) { return arith::ShRUIOp::create(builder, a, constant(32)); }
  Value multiply(Value word, uint32_t by) {
    Value low = arith::AndIOp::create(builder, word, constant(0xFFFFFFFF));
    return arith::MulIOp::create(builder, low, constant(by));
  }
  Value mix(Value a, Value b, Value c) {
    Value ab = arith::XOrIOp::create(builder, a, b);
    return arith::XOrIOp::create(builder, ab, c);
  }
};

} // namespace

Value dtc::graph::buildPhilox(ImplicitLocOpBuilder &builder, Value key,
                              std::array<Value, 4> counter) {
  Words words(builder, key.getType());
  Value key0 = key, key1 = words.high(key);
  // Seven rounds pass BigCrush; ten leave a margin and are the choice of all libraries. Between
  // rounds the key grows by the golden ratio and by sqrt(3) - 1, as 32-bit fractions; the
  // multipliers are those of the authors' Random123.
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = words.add(key0, 0x9E3779B9);
      key1 = words.add(key1, 0xBB67AE85);
    }
    Value first = words.multiply(counter[0], 0xD2511F53);
    Value second = words.multiply(counter[2], 0xCD9E8D57);
    counter = {words.mix(words.high(second), counter[1], key0), second,
               words.mix(words.high(first), counter[3], key1), first};
  }
  Type word = builder.getI32Type();
  if (auto lanes = dyn_cast<VectorType>(words.type))
    word = lanes.clone(word);
  return arith::TruncIOp::create(builder, word, counter[0]);
}
