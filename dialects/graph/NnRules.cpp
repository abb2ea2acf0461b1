// Rules of the layers: which loops they run and which of them can be split.
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

OpRule LinearOp::getRule() {
  RuleBuilder builder;
  int64_t lead = tensorType(getX()).getRank() - getContract();
  TensorLoops rows = builder.loops(getX(), 0, lead);
  TensorLoops out = builder.loops(getResult(), lead);
  TensorLoops in = builder.loops(getX(), lead, -1, LoopKind::Sum);
  builder.operand(rows + in).operand(getTransposed() ? out + in : in + out).result(rows + out);
  return builder.matrixProduct(2).zeroPreserving().take();
}

OpRule MatmulOp::getRule() {
  RuleBuilder builder;
  int64_t batch = tensorType(getA()).getRank() - 2;
  TensorLoops lead = builder.loops(getA(), 0, batch);
  TensorLoops m = builder.loops(getResult(), batch, batch + 1);
  TensorLoops n = builder.loops(getResult(), batch + 1, batch + 2);
  int64_t kDim = getTransposeA() ? batch : batch + 1;
  TensorLoops k = builder.loops(getA(), kDim, kDim + 1, LoopKind::Sum);
  builder.operand(lead + (getTransposeA() ? k + m : m + k));
  builder.operand(lead + (getTransposeB() ? n + k : k + n));
  builder.result(lead + (m + n));
  return builder.matrixProduct(2).zeroPreserving().take();
}

OpRule EmbeddingOp::getRule() {
  RuleBuilder builder;
  TensorLoops tokens = builder.loops(getIds());
  TensorLoops column = builder.loops(getTable(), 1, 2);
  TensorLoops row = builder.loops(getTable(), 0, 1, LoopKind::Sum);
  builder.operand(row + column).operand(tokens).result(tokens + column).indexed(row);
  return builder.flops(0).take();
}

// Rows are independent; within a row everything depends on everything.
static OpRule normRule(Operation *op, double flopsPerPoint) {
  RuleBuilder builder;
  Value x = op->getOperand(0);
  int64_t last = tensorType(x).getRank() - 1;
  TensorLoops rows = builder.loops(x, 0, last);
  TensorLoops column = builder.loops(x, last, last + 1, LoopKind::Whole);
  builder.operand(rows + column);
  for (unsigned i = 1; i < op->getNumOperands(); ++i)
    builder.operand(column);
  builder.result(rows + column);
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    builder.result(rows);
  return builder.flops(flopsPerPoint).take();
}

OpRule LayerNormOp::getRule() { return normRule(*this, 8); }
OpRule RmsNormOp::getRule() { return normRule(*this, 5); }
OpRule SoftmaxOp::getRule() { return normRule(*this, 12); }

OpRule RotaryTableOp::getRule() {
  RuleBuilder builder;
  TensorLoops position = builder.loops(getCos(), 0, 1);
  TensorLoops frequency = builder.loops(getCos(), 1, 2, LoopKind::Whole);
  builder.result(position + frequency).result(position + frequency).indexed(position);
  return builder.flops(20).take();
}

OpRule RotaryOp::getRule() {
  RuleBuilder builder;
  TensorLoops lead = builder.loops(getX(), 0, 3); // batch, position, head
  TensorLoops half = {builder.loop(2, LoopKind::Whole)};
  TensorLoops pair = builder.loops(getCos(), 1, 2, LoopKind::Whole);
  TensorLoops table = {lead[1], pair[0]};
  TensorLoops x = lead + TensorLoops{{half[0][0], pair[0][0]}};
  builder.operand(x).operand(table).operand(table).result(x);
  return builder.flops(3).zeroPreserving().take();
}

namespace {

// The loops of attention: batch, kv head, group (query heads per kv head), query, key, head dim.
// Ranks with the same kv heads may share out the group; dk and dv are then partial sums.
struct AttentionLoops {
  AttentionLoops(RuleBuilder &builder, Value qValue, Value kValue, LoopKind group) {
    RankedTensorType qType = tensorType(qValue), kType = tensorType(kValue);
    DimLoops b = builder.loop(qType.getDimSize(0));
    DimLoops h = builder.loop(kType.getDimSize(2));
    DimLoops g =
        builder.loop(qType.getDimSize(2) / std::max<int64_t>(1, kType.getDimSize(2)), group);
    DimLoops t = builder.loop(qType.getDimSize(1), LoopKind::Whole);
    DimLoops s = builder.loop(kType.getDimSize(1), LoopKind::Whole);
    DimLoops d = builder.loop(qType.getDimSize(3), LoopKind::Whole);
    DimLoops heads = {h[0], g[0]};
    q = {b, t, heads, d};
    k = {b, s, h, d};
    lse = {b, heads, t};
    keyed = {b, h, g};
    grouped = {g};
  }
  TensorLoops q, k, lse;
  TensorLoops keyed;   // loops whose global index keys the dropout mask
  TensorLoops grouped; // a padded query head still sees the keys and values of its group
};

// Pairs of query and key that a sliding window leaves, of those that causal attention has: rows see
// n keys each but for the first n. Counted as if queries were as many as keys.
double slidingShare(std::optional<uint64_t> sliding, Value kValue) {
  auto keys = static_cast<double>(tensorType(kValue).getDimSize(1));
  if (!sliding || static_cast<double>(*sliding) >= keys)
    return 1;
  double hidden = 1 - static_cast<double>(*sliding) / keys;
  return 1 - hidden * hidden;
}

} // namespace

OpRule AttentionOp::getRule() {
  RuleBuilder builder;
  AttentionLoops loops(builder, getQ(), getK(), LoopKind::Parallel);
  builder.operand(loops.q).operand(loops.k).operand(loops.k).scalars(*this);
  builder.result(loops.q).result(loops.lse);
  if (getDropout().convertToDouble() > 0)
    builder.indexed(loops.keyed);
  return builder.matrixProduct(4 * slidingShare(getSliding(), getK()))
      .zeroPreserving()
      .fed(loops.grouped)
      .take(); // two products
}

OpRule AttentionGradOp::getRule() {
  RuleBuilder builder;
  AttentionLoops loops(builder, getQ(), getK(), LoopKind::Sum); // dk, dv: over the group
  builder.operand(loops.q).operand(loops.k).operand(loops.k);
  builder.operand(loops.q).operand(loops.lse).operand(loops.q).scalars(*this);
  builder.result(loops.q).result(loops.k).result(loops.k);
  if (getDropout().convertToDouble() > 0)
    builder.indexed(loops.keyed);
  return builder.matrixProduct(8 * slidingShare(getSliding(), getK()))
      .zeroPreserving()
      .fed(loops.grouped)
      .take(); // four products; recomputed scores are not counted
}

OpRule CrossEntropyOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getTargets());
  int64_t last = rows.size();
  TensorLoops word = builder.loops(getLogits(), last, last + 1, LoopKind::Whole);
  builder.operand(rows + word).operand(rows).result(rows).result(rows);
  return builder.flops(12).take();
}

// Padded targets are zeros, which may count.
OpRule CountedOp::getRule() { return pointwiseRule(*this, 1, false); }

// The sum of the weights is that of a step, so none of it can be split; dtc-differentiate takes it
// apart.
OpRule WeightedMeanOp::getRule() {
  RuleBuilder builder;
  TensorLoops all = builder.loops(getX(), 0, -1, LoopKind::Whole);
  return builder.operand(all).operand(all).result({}).flops(3).take();
}

OpRule SumExpOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getMax());
  int64_t last = rows.size();
  TensorLoops word = builder.loops(getX(), last, last + 1, LoopKind::Sum);
  builder.operand(rows + word).operand(rows).result(rows).indexed(word);
  return builder.flops(12).take();
}

OpRule PickOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getTargets());
  int64_t last = rows.size();
  TensorLoops word = builder.loops(getX(), last, last + 1, LoopKind::Sum);
  builder.operand(rows + word).operand(rows).result(rows).indexed(word);
  return builder.flops(0).zeroPreserving().take();
}

OpRule DropoutOp::getRule() {
  RuleBuilder builder;
  TensorLoops space = builder.loops(getX());
  builder.operand(space).scalars(*this).result(space).indexed(space);
  return builder.flops(60).zeroPreserving().take(); // mostly the random number
}
