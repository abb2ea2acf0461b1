// Checks, rules and kernels of ops of sequences that are on several ranks.
#include "dialects/graph/ContextOps.h"

#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/ContextOps.cpp.inc"

LogicalResult ChunkStartsOp::verify() {
  if (failed(checkNumDims(*this, "starts", tensorType(getStarts()), 2))) // chunk_starts_c1
    return failure();
  if (static_cast<int64_t>(getSize()) < 1) // chunk_starts_c2
    return emitOpError() << "'size' is " << static_cast<int64_t>(getSize())
                         << ", but 1 or more is wanted";
  if (std::optional<ArrayRef<int64_t>> within = getWithin(); // chunk_starts_c4
      within && (within->size() != 2 || (*within)[0] > (*within)[1]))
    return emitOpError() << "'within' is [" << *within
                         << "], but a least and a most number are wanted";
  if (std::optional<ArrayRef<int64_t>> turned = getTurned(); // chunk_starts_c5
      turned && (turned->size() != 2 || (*turned)[0] < 0 || (*turned)[0] >= (*turned)[1]))
    return emitOpError() << "'turned' is [" << *turned
                         << "], but a number from 0 to below a second one is wanted";
  return checkWindows(*this, getWindows()); // chunk_starts_c3
}

OpRule ChunkStartsOp::getRule() {
  RuleBuilder builder;
  TensorLoops sample = builder.loops(getStarts(), 0, 1), chunk = builder.loops(getStarts(), 1, 2);
  builder.result(sample + chunk).indexed(chunk).flops(1);
  return builder.take();
}

SmallVector<Value> ChunkStartsOp::buildPoint(OpBuilder &builder, Location loc, ValueRange,
                                             ValueRange indices) {
  Type element = getElementTypeOrSelf(getStarts().getType());
  Value chunk = arith::IndexCastOp::create(builder, loc, element, indices[1]);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(element, value));
  };
  if (std::optional<ArrayRef<int64_t>> turned = getTurned()) {
    Value of = constant((*turned)[1]);
    Value within = arith::RemUIOp::create(builder, loc, chunk, of);
    Value first = arith::SubIOp::create(builder, loc, chunk, within);
    within = arith::AddIOp::create(builder, loc, within, constant((*turned)[0]));
    chunk = arith::AddIOp::create(builder, loc, first,
                                  arith::RemUIOp::create(builder, loc, within, of));
  }
  Value start = arith::MulIOp::create(builder, loc, chunk, constant(getSize()));
  if (int64_t offset = getOffset())
    start = arith::AddIOp::create(builder, loc, start, constant(offset));
  if (std::optional<ArrayRef<int64_t>> within = getWithin()) {
    start = arith::MaxSIOp::create(builder, loc, start, constant((*within)[0]));
    start = arith::MinSIOp::create(builder, loc, start, constant((*within)[1]));
  }
  return {start};
}

bool ChunkStartsOp::needsIndices() { return true; }
