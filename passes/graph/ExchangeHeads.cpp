// Has ranks that share a sequence swap its parts for heads around attention.
#include "passes/graph/ExchangeHeads.h"

#include "dialects/graph/ExchangeOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"

#include <numeric>

using namespace mlir;

namespace dtc {
namespace {

// Dims of q, k, v and the result of attention.
constexpr int64_t kTokensDim = 1, kHeadsDim = 2;

int64_t headsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(kHeadsDim);
}

// Returns the tensor with `copies` of each head, one after the other.
Value repeatHeads(OpBuilder &builder, Location loc, Value x, int64_t copies) {
  if (copies == 1)
    return x;
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> apart(type.getShape()), joined(type.getShape());
  apart.insert(apart.begin() + kHeadsDim + 1, copies);
  joined[kHeadsDim] *= copies;
  Value repeated = graph::BroadcastOp::create(builder, loc, type.clone(apart), x,
                                              ArrayRef<int64_t>{kHeadsDim + 1}, Value());
  return graph::ReshapeOp::create(builder, loc, type.clone(joined), repeated);
}

LogicalResult exchange(graph::AttentionOp attention, int64_t ranks) {
  int64_t copies = copiesOfHeads(headsOf(attention.getQ()), headsOf(attention.getK()), ranks);
  if (copies == 0)
    return attention.emitOpError("has ")
           << headsOf(attention.getQ()) << " heads and " << headsOf(attention.getK())
           << " kv heads, which cp and tp, " << ranks
           << " ranks together, do not divide; use another cp";
  OpBuilder builder(attention);
  Location loc = attention.getLoc();
  auto toHeads = [&](OpOperand &operand, int64_t copies) {
    operand.set(graph::ExchangeOp::create(
        builder, loc, repeatHeads(builder, loc, operand.get(), copies), kTokensDim, kHeadsDim));
  };
  toHeads(attention.getQMutable(), 1);
  toHeads(attention.getKMutable(), copies);
  toHeads(attention.getVMutable(), copies);
  builder.setInsertionPointAfter(attention);
  auto back = graph::ExchangeOp::create(builder, loc, attention.getResult(), kHeadsDim, kTokensDim);
  attention.getResult().replaceAllUsesExcept(back, back);
  return success();
}

} // namespace

int64_t copiesOfHeads(int64_t heads, int64_t kvHeads, int64_t ranks) {
  int64_t copies = ranks / std::gcd(kvHeads, ranks);
  return kvHeads > 0 && heads % (kvHeads * copies) == 0 ? copies : 0;
}

LogicalResult exchangeHeads(ModuleOp model, int64_t ranks) {
  SmallVector<graph::AttentionOp> all;
  model.walk([&](graph::AttentionOp attention) { all.push_back(attention); });
  for (graph::AttentionOp attention : all)
    if (failed(exchange(attention, ranks)))
      return failure();
  return success();
}

} // namespace dtc
