// Computes local and global indices of a loop of which a rank has a window.
#include "passes/codegen/WindowIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dtc {
namespace {

struct IndexBuilder {
  OpBuilder &builder;
  Location loc;

  Value constant(int64_t value) const {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) const { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) const { return arith::SubIOp::create(builder, loc, a, b); }
  Value isBelow(Value a, int64_t limit) const {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, constant(limit));
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value clamp(Value a, int64_t high) const {
    Value atLeast = arith::MaxSIOp::create(builder, loc, a, constant(0));
    return arith::MinSIOp::create(builder, loc, atLeast, constant(high));
  }
};

} // namespace

Value globalIndex(OpBuilder &builder, Location loc, const WindowStarts &window, Value local) {
  IndexBuilder index{builder, loc};
  Value first = index.add(local, window.starts[0]);
  if (window.starts.size() == 1)
    return first;
  int64_t piece = window.window.getPieceSize();
  Value second = index.add(index.sub(local, index.constant(piece)), window.starts[1]);
  return index.select(index.isBelow(local, piece), first, second);
}

Value localIndex(OpBuilder &builder, Location loc, const WindowStarts &window, Value global) {
  IndexBuilder index{builder, loc};
  Value first = index.sub(global, window.starts[0]);
  if (window.starts.size() == 1)
    return first;
  int64_t piece = window.window.getPieceSize();
  Value second = index.sub(global, window.starts[1]);
  Value ofSecond = index.select(index.isBelow(second, piece),
                                index.add(second, index.constant(piece)), index.constant(-1));
  return index.select(index.isBelow(first, piece), first, ofSecond);
}

Value validIndices(OpBuilder &builder, Location loc, const WindowStarts &window) {
  IndexBuilder index{builder, loc};
  Value global = index.constant(window.window.getGlobal());
  if (window.starts.size() == 1)
    return index.sub(global, window.starts[0]);
  int64_t piece = window.window.getPieceSize();
  return index.add(index.clamp(index.sub(global, window.starts[0]), piece),
                   index.clamp(index.sub(global, window.starts[1]), piece));
}

} // namespace dtc
