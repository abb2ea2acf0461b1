// Rules of a mixture of experts: a loop over experts that splits over a separate axis, loops over
// tokens that split over the data axes.
#include "dialects/graph/Moe.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

// Returns the dim of a sequence: groups, then tokens of a group. A single group is not a loop, so
// that its tokens may split.
DimLoops sequenceDim(RuleBuilder &builder, Value tokens, int64_t group, LoopKind groupKind,
                     LoopKind tokenKind) {
  int64_t sequence = tensorType(tokens).getDimSize(1);
  DimLoops dim;
  if (sequence != group)
    dim = builder.loop(sequence / std::max<int64_t>(1, group), groupKind);
  dim.append(builder.loop(group, tokenKind));
  return dim;
}

// The loops of dispatch, combine and the gradient of their weights: expert, batch, group, token,
// choice, slot, column. Tokens and rows are related by index and not by a shared loop, so if one of
// them is the result, the loops of the other are summed over.
struct RoutedLoops {
  RoutedLoops(RuleBuilder &builder, Value tokensValue, Value rowsValue, Value expertsValue,
              int64_t group, bool toRows, LoopKind columnKind) {
    RankedTensorType rowsType = tensorType(rowsValue);
    DimLoops e = builder.loop(rowsType.getDimSize(0), toRows ? LoopKind::Parallel : LoopKind::Sum);
    DimLoops b = builder.loop(rowsType.getDimSize(1));
    DimLoops t = sequenceDim(builder, tokensValue, group, LoopKind::Parallel,
                             toRows ? LoopKind::Sum : LoopKind::Parallel);
    DimLoops k = builder.loop(tensorType(expertsValue).getDimSize(2), LoopKind::Whole);
    int64_t groups = tensorType(tokensValue).getDimSize(1) / std::max<int64_t>(1, group);
    // Slots are counted within a group: groups split, the slots of one group do not.
    DimLoops slot =
        builder.loop(rowsType.getDimSize(2) / std::max<int64_t>(1, groups), LoopKind::Whole);
    DimLoops h = builder.loop(rowsType.getDimSize(3), columnKind);
    DimLoops rowDim = slot;
    if (t.size() > 1)
      rowDim.insert(rowDim.begin(), t.front());
    tokens = {b, t, h};
    choices = {b, t, k};
    rows = {e, b, rowDim, h};
    expert = e[0];
    capacity = slot[0];
    tokenLoops = {b, t};
    builder.sequence({t}).channels({h});
  }
  TensorLoops tokens, choices, rows, tokenLoops;
  unsigned expert, capacity;
};

} // namespace

// Points are (expert, token, choice...): the work is a softmax over the experts, and little per
// choice.
OpRule MoeRouterOp::getRule() {
  RuleBuilder builder;
  RankedTensorType type = tensorType(getLogits());
  DimLoops b = builder.loop(type.getDimSize(0));
  DimLoops t = sequenceDim(builder, getLogits(), getGroup(), LoopKind::Sum, LoopKind::Whole);
  DimLoops e = builder.loop(type.getDimSize(2), LoopKind::Whole);
  DimLoops k = builder.loop(getTop(), LoopKind::Whole);
  TensorLoops choices = {b, t, k}, perSequence = {b, e};
  builder.sequence({t}).operand({b, t, e}).result(choices).result(choices).result(choices);
  builder.result(perSequence).result(perSequence);
  return builder.flops(2 + 12.0 / static_cast<double>(getTop())).take();
}

// Points are tokens: importance arrives as the gradient of a sum over tokens, which each of them
// repeats.
OpRule MoeRouterGradOp::getRule() {
  RuleBuilder builder;
  TensorLoops tokens = builder.loops(getLogits(), 0, 2);
  TensorLoops e = builder.loops(getLogits(), 2, 3, LoopKind::Whole);
  TensorLoops k = builder.loops(getExperts(), 2, 3, LoopKind::Whole);
  builder.sequence({tokens[1]}).operand(tokens + e).operand(tokens + k);
  if (getDweights())
    builder.operand(tokens + k);
  if (getDimportance())
    builder.operand(TensorLoops{tokens[0]} + e);
  builder.result(tokens + e);
  return builder.flops(2 + 16.0 / static_cast<double>(tensorType(getExperts()).getDimSize(2)))
      .take();
}

// c sum over experts of load importance, per sequence. Partial sums of routers with split groups
// are finished before it, because the product of sums is not a sum.
OpRule MoeBalanceLossOp::getRule() {
  RuleBuilder builder;
  TensorLoops b = builder.loops(getLoad(), 0, 1);
  TensorLoops e = builder.loops(getLoad(), 1, 2, LoopKind::Sum);
  return builder.operand(b + e).operand(b + e).result(b).flops(2).zeroPreserving().take();
}

// Finishes a rule whose work is moving rows. `dispatches`: tokens and rows are on different ranks
// under expert parallelism. It is false for the gradient of the weights, which reads rows that have
// already been sent to the ranks of the tokens.
static OpRule finishRouted(RuleBuilder &builder, const RoutedLoops &loops, bool dispatches) {
  OpRule rule = builder.flops(0).zeroPreserving().take();
  rule.indexedLoops = {loops.expert};
  rule.expertLoops = {loops.expert};
  if (dispatches) {
    rule.kind = OpKind::Dispatch;
    rule.capacityLoops = {loops.capacity};
  }
  return rule;
}

// rows[e, b, slot] = the token that chose slot of e, or 0. A rank has some experts and the tokens
// of its samples; under expert parallelism tokens of other ranks come by an all-to-all (GShard:
// Lepikhin et al. 2020, arXiv:2006.16668).
OpRule MoeDispatchOp::getRule() {
  RuleBuilder builder;
  RoutedLoops loops(builder, getTokens(), getResult(), getExperts(), getGroup(), /*toRows=*/true,
                    LoopKind::Parallel);
  builder.operand(loops.tokens).operand(loops.choices).operand(loops.choices);
  if (getWeights())
    builder.operand(loops.choices);
  builder.result(loops.rows);
  return finishRouted(builder, loops, /*dispatches=*/true);
}

// tokens[b, t] = sum over choices of rows[e, b, slot]: if experts are split, each rank adds the
// rows of its own.
OpRule MoeCombineOp::getRule() {
  RuleBuilder builder;
  RoutedLoops loops(builder, getResult(), getRows(), getExperts(), getGroup(), /*toRows=*/false,
                    LoopKind::Parallel);
  builder.operand(loops.rows).operand(loops.choices).operand(loops.choices);
  if (getWeights())
    builder.operand(loops.choices);
  // Marks padded tokens as fed: they still read a row.
  builder.result(loops.tokens).fed(loops.tokenLoops);
  return finishRouted(builder, loops, /*dispatches=*/true);
}

// dw[b, t, k] = rows[e, b, slot] . dy[b, t], a sum over the columns.
OpRule MoeWeightGradOp::getRule() {
  RuleBuilder builder;
  RoutedLoops loops(builder, getTokens(), getRows(), getExperts(), getGroup(), /*toRows=*/false,
                    LoopKind::Sum);
  builder.operand(loops.rows).operand(loops.choices).operand(loops.choices).operand(loops.tokens);
  builder.result(loops.choices);
  return finishRouted(builder, loops, /*dispatches=*/false);
}

// One matrix product per expert: experts are Batch, its rows M. A share `fill` of the rows hold
// tokens.
OpRule ExpertLinearOp::getRule() {
  RuleBuilder builder;
  int64_t last = tensorType(getX()).getRank() - 1;
  TensorLoops rows = builder.loops(getX(), 0, last);
  TensorLoops out = builder.loops(getResult(), last);
  TensorLoops in = builder.loops(getX(), last, -1, LoopKind::Sum);
  TensorLoops expert = {rows[0]};
  builder.operand(rows + in).operand(expert + (getTransposed() ? out + in : in + out));
  builder.result(rows + out).channels(in + out);
  OpRule rule = builder.product().zeroPreserving().take();
  rule.expertLoops = {rows[0][0]};
  rule.modelShare = getFill().convertToDouble();
  return rule;
}

// dw[e] = x[e]^T dy[e]: rows K, experts Batch.
OpRule ExpertLinearWeightGradOp::getRule() {
  RuleBuilder builder;
  int64_t last = tensorType(getX()).getRank() - 1;
  TensorLoops expert = builder.loops(getX(), 0, 1);
  TensorLoops rows = expert + builder.loops(getX(), 1, last, LoopKind::Sum);
  TensorLoops in = builder.loops(getX(), last), out = builder.loops(getDy(), last);
  builder.operand(rows + in).operand(rows + out);
  builder.result(expert + (getTransposed() ? out + in : in + out));
  OpRule rule = builder.product().channels(in + out).gradient().zeroPreserving().take();
  rule.expertLoops = {expert[0][0]};
  rule.modelShare = getFill().convertToDouble();
  return rule;
}
