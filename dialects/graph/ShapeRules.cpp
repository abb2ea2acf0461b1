// Rules of the ops that move elements, and of reductions.
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// y[kept] = combine over reduced of x[kept, reduced].
OpRule ReduceOp::getRule() {
  RuleBuilder builder;
  LoopKind kind = getKind() == ReduceKind::Sum   ? LoopKind::Sum
                  : getKind() == ReduceKind::Max ? LoopKind::Max
                                                 : LoopKind::Mean;
  RankedTensorType type = tensorType(getX());
  TensorLoops from, to, reduced;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isReduced = llvm::is_contained(getDims(), dim);
    from.push_back(builder.loop(type.getDimSize(dim), isReduced ? kind : LoopKind::Parallel));
    (isReduced ? reduced : to).push_back(from.back());
  }
  builder.operand(from).result(to).zeroPreserving();
  if (getKind() == ReduceKind::Sum)
    builder.linear();
  if (getKind() == ReduceKind::Max)
    builder.indexed(reduced); // a padded zero could be larger than the true maximum
  return builder.take();
}

// y[kept, new] = x[kept]: the new loops are in the result alone, so x feeds padding there.
OpRule BroadcastOp::getRule() {
  RuleBuilder builder;
  TensorLoops to = builder.loops(getResult());
  RankedTensorType type = tensorType(getX());
  bool keeps = type.getRank() == tensorType(getResult()).getRank();
  TensorLoops from, added;
  for (unsigned dim = 0; dim < to.size(); ++dim) {
    bool isNew = llvm::is_contained(getDims(), static_cast<int64_t>(dim));
    if (isNew)
      added.push_back(to[dim]);
    if (!isNew)
      from.push_back(to[dim]);
    else if (keeps)
      from.emplace_back();
  }
  builder.operand(from).result(to).flops(0).zeroPreserving().fed(added).linear();
  if (getLike()) {
    TensorLoops like(tensorType(getLike()).getRank());
    if (!like.empty() && !to.empty())
      like[0] = to[0];
    builder.operand(like);
  }
  return builder.take();
}

// Both shapes are cut into their common factors, each a loop of both: [8, 6] to [48] has loops 8
// and 6, and a split of 48 into 8 or fewer parts is a split of 8.
OpRule ReshapeOp::getRule() {
  OpRule rule;
  FailureOr<ReshapeLoops> loops =
      factorReshape(tensorType(getX()).getShape(), tensorType(getResult()).getShape());
  assert(succeeded(loops) && "the verifier checked that both shapes hold the same elements");
  rule.loops = std::move(loops->loops);
  rule.operands.push_back(std::move(loops->from));
  rule.results.push_back(std::move(loops->to));
  rule.kind = OpKind::View;
  rule.flopsPerPoint = 0;
  rule.zeroPreserving = rule.jointlyLinear = true;
  return rule;
}

// y[p(i)] = x[i]: the same loops in another order.
OpRule TransposeOp::getRule() {
  RuleBuilder builder;
  TensorLoops from = builder.loops(getX()), to;
  for (int64_t dim : getPermutation())
    to.push_back(from[dim]);
  return builder.operand(from).result(to).flops(0).zeroPreserving().linear().take();
}

// Returns the dims of `type`; `wholeDim` gets a whole loop, the others may be split.
static TensorLoops loopsWithWhole(RuleBuilder &builder, RankedTensorType type, int64_t wholeDim) {
  TensorLoops dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    dims.push_back(
        builder.loop(type.getDimSize(dim), dim == wholeDim ? LoopKind::Whole : LoopKind::Parallel));
  return dims;
}

// y[i] = x[start + i] along a dim. That dim is whole, because ranks would hold different parts of
// it for x and for y. The others split, and a slice of everything is the identity.
OpRule SliceOp::getRule() {
  RuleBuilder builder;
  RankedTensorType type = tensorType(getX());
  int64_t dim = getDim();
  bool isFull = type.getDimSize(dim) == static_cast<int64_t>(getSize()) && !getSqueeze();
  TensorLoops from = loopsWithWhole(builder, type, isFull ? -1 : dim), to = from;
  if (getSqueeze())
    to.erase(to.begin() + dim);
  else if (!isFull)
    to[dim] = builder.loop(getSize(), LoopKind::Whole);
  return builder.operand(from).result(to).flops(0).zeroPreserving().linear().take();
}

// y[i] = sum of x[0..i] along a dim, which is whole, as a part needs the sums of those before it.
OpRule CumsumOp::getRule() {
  RuleBuilder builder;
  TensorLoops dims = loopsWithWhole(builder, getType(), getDim());
  return builder.operand(dims).result(dims).flops(1).zeroPreserving().linear().take();
}

// The dim with x at `low` and zeros around it is whole, as in a slice.
OpRule PadOp::getRule() {
  RuleBuilder builder;
  RankedTensorType type = tensorType(getX());
  int64_t dim = getDim();
  bool isFull = getLow() == 0 && getHigh() == 0;
  TensorLoops from = loopsWithWhole(builder, type, isFull ? -1 : dim), to = from;
  if (!isFull)
    to[dim] = builder.loop(tensorType(getResult()).getDimSize(dim), LoopKind::Whole);
  return builder.operand(from).result(to).flops(0).zeroPreserving().linear().take();
}

// The joined dim is whole, because its parts have other sizes.
OpRule ConcatOp::getRule() {
  RuleBuilder builder;
  int64_t dim = getDim();
  TensorLoops to = loopsWithWhole(builder, tensorType(getResult()), dim);
  for (Value input : getInputs()) {
    TensorLoops from = to;
    if (getStack())
      from.erase(from.begin() + dim);
    else
      from[dim] = builder.loop(tensorType(input).getDimSize(dim), LoopKind::Whole);
    builder.operand(from);
  }
  return builder.result(to).flops(0).zeroPreserving().linear().take();
}
