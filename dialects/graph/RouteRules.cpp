// Rules and gradients of mixtures of experts without drops. A rank orders the rows of its own
// samples, so a loop over rows never splits but with the batch.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/RouteOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Points are (token, expert, choice): a score for each expert, and a comparison for each choice.
OpRule RouteTokensOp::getRule() {
  RuleBuilder builder;
  TensorLoops tokens = builder.loops(getLogits(), 0, 2);
  TensorLoops e = builder.loops(getLogits(), 2, 3, LoopKind::Whole);
  TensorLoops k = builder.loops(getWeights(), 2, 3, LoopKind::Whole);
  builder.sequence({tokens[1]}).operand(tokens + e);
  if (getBias())
    builder.operand(e);
  builder.result(tokens + k).result(tokens + k);
  OpRule rule = builder.flops(2 + 12.0 / static_cast<double>(getTop())).take();
  if (getBias())
    rule.completeOperands = {1}; // stays in f32
  return rule;
}

OpRule RouteGradOp::getRule() {
  RuleBuilder builder;
  TensorLoops tokens = builder.loops(getLogits(), 0, 2);
  TensorLoops e = builder.loops(getLogits(), 2, 3, LoopKind::Whole);
  TensorLoops k = builder.loops(getExperts(), 2, 3, LoopKind::Whole);
  builder.sequence({tokens[1]}).operand(tokens + e).operand(tokens + k).operand(tokens + k);
  builder.result(tokens + e);
  return builder.flops(2 + 16.0 / static_cast<double>(tensorType(getExperts()).getDimSize(2)))
      .take();
}

OpRule PlaceRowsOp::getRule() {
  RuleBuilder builder;
  TensorLoops b = builder.loops(getExperts(), 0, 1);
  TensorLoops rest = builder.loops(getExperts(), 1, 3, LoopKind::Whole);
  TensorLoops e = builder.loops(getCounts(), 1, 2, LoopKind::Whole);
  builder.operand(b + rest).result(b + rest).result(b + e);
  return builder.sequence({rest[0]}).flops(0).take();
}

namespace {

// The loops of packing, unpacking and the gradient of the weights: expert, sample, token, choice,
// row, column. Tokens and rows are related by index and not by a shared loop.
struct PackedLoops {
  PackedLoops(RuleBuilder &builder, Value tokensValue, Value rowsValue, Value indicesValue,
              bool toRows, LoopKind columnKind) {
    RankedTensorType rowsType = tensorType(rowsValue);
    DimLoops e = builder.loop(rowsType.getDimSize(0), toRows ? LoopKind::Parallel : LoopKind::Sum);
    DimLoops b = builder.loop(rowsType.getDimSize(1));
    DimLoops t = builder.loop(tensorType(tokensValue).getDimSize(1),
                              toRows ? LoopKind::Whole : LoopKind::Parallel);
    DimLoops k = builder.loop(tensorType(indicesValue).getDimSize(2), LoopKind::Whole);
    DimLoops row = builder.loop(rowsType.getDimSize(2), LoopKind::Whole);
    DimLoops h = builder.loop(rowsType.getDimSize(3), columnKind);
    tokens = {b, t, h};
    choices = {b, t, k};
    rows = {e, b, row, h};
    tokenLoops = {b, t};
    expert = e[0];
    capacity = row[0];
    builder.sequence({t}).channels({h});
  }
  TensorLoops tokens, choices, rows, tokenLoops;
  unsigned expert, capacity;
};

// Finishes a rule whose work is moving rows.
OpRule finishPacked(RuleBuilder &builder, const PackedLoops &loops, bool dispatches) {
  OpRule rule = builder.flops(0).zeroPreserving().take();
  rule.indexedLoops = {loops.expert};
  rule.expertLoops = {loops.expert};
  if (dispatches) {
    rule.kind = OpKind::Dispatch;
    rule.capacityLoops = {loops.capacity};
  }
  return rule;
}

} // namespace

OpRule PackRowsOp::getRule() {
  RuleBuilder builder;
  PackedLoops loops(builder, getTokens(), getResult(), getRowOf(), /*toRows=*/true,
                    LoopKind::Parallel);
  builder.operand(loops.tokens).operand(loops.choices);
  if (getWeights())
    builder.operand(loops.choices);
  builder.result(loops.rows);
  return finishPacked(builder, loops, /*dispatches=*/true);
}

OpRule UnpackRowsOp::getRule() {
  RuleBuilder builder;
  PackedLoops loops(builder, getResult(), getRows(), getRowOf(), /*toRows=*/false,
                    LoopKind::Parallel);
  builder.operand(loops.rows).operand(loops.choices);
  if (getWeights())
    builder.operand(loops.choices);
  builder.result(loops.tokens).fed(loops.tokenLoops);
  OpRule rule = finishPacked(builder, loops, /*dispatches=*/true);
  rule.jointlyLinear = true; // in the rows
  rule.completeOperands = {1};
  if (getWeights())
    rule.completeOperands.push_back(2);
  return rule;
}

OpRule UnpackWeightGradOp::getRule() {
  RuleBuilder builder;
  PackedLoops loops(builder, getTokens(), getRows(), getRowOf(), /*toRows=*/false, LoopKind::Sum);
  builder.operand(loops.rows).operand(loops.choices).operand(loops.tokens).result(loops.choices);
  OpRule rule = finishPacked(builder, loops, /*dispatches=*/false);
  rule.jointlyLinear = true; // in the rows
  rule.completeOperands = {1, 2};
  return rule;
}

// One matrix product per expert: experts are Batch, rows M.
OpRule GroupedLinearOp::getRule() {
  RuleBuilder builder;
  TensorLoops rows = builder.loops(getX(), 0, 2);
  rows = rows + builder.loops(getX(), 2, 3, LoopKind::Whole);
  TensorLoops out = builder.loops(getResult(), 3);
  TensorLoops in = builder.loops(getX(), 3, -1, LoopKind::Sum);
  TensorLoops expert = {rows[0]};
  builder.operand(rows + in).operand(expert + (getTransposed() ? out + in : in + out));
  builder.result(rows + out).channels(in + out).product();
  OpRule rule = builder.operand({rows[1], rows[0]}).zeroPreserving().take();
  rule.expertLoops = {rows[0][0]};
  return rule;
}

// dw[e] = x[e]^T dy[e]: rows K, experts Batch.
OpRule GroupedLinearWeightGradOp::getRule() {
  RuleBuilder builder;
  TensorLoops expert = builder.loops(getX(), 0, 1);
  TensorLoops sample = builder.loops(getX(), 1, 2, LoopKind::Sum);
  TensorLoops rows = expert + sample + builder.loops(getX(), 2, 3, LoopKind::Whole);
  TensorLoops in = builder.loops(getX(), 3), out = builder.loops(getDy(), 3);
  builder.operand(rows + in).operand(rows + out);
  builder.result(expert + (getTransposed() ? out + in : in + out));
  builder.product().channels(in + out).gradient().zeroPreserving();
  OpRule rule = builder.operand(sample + expert).take();
  rule.expertLoops = {expert[0][0]};
  return rule;
}

// The choice of experts is piecewise constant and has no gradient, and neither has what only moves
// it (Shazeer et al. 2017, arXiv:1701.06538, section 2.1).
LogicalResult RouteTokensOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                           ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (needed[0] && resultGrads[0])
    grads[0] = RouteGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(),
                                   getExperts(), resultGrads[0], getScoreAttr(),
                                   getNormalisedAttr(), getEpsilonAttr(), getScaleAttr());
  return success();
}

// rows = S x w, where S selects a token for each row: dx = S^T (drows w), and dw = drows x for each
// choice.
LogicalResult PackRowsOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                        ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseOperand(*this, needed, 1, "places")))
    return failure();
  if (needed[0])
    grads[0] = UnpackRowsOp::create(builder, getLoc(), getTokens().getType(), resultGrads[0],
                                    getRowOf(), getWeights(), ArrayAttr(), getBlocksAttr());
  if (getWeights() && needed[2])
    grads[2] = UnpackWeightGradOp::create(builder, getLoc(), getWeights().getType(), resultGrads[0],
                                          getRowOf(), getTokens(), ArrayAttr());
  return success();
}

// y = S^T (rows w), the transpose of packing: drows = S dy w, dw = rows dy.
LogicalResult UnpackRowsOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                          ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseOperand(*this, needed, 1, "places")))
    return failure();
  if (needed[0])
    grads[0] = PackRowsOp::create(builder, getLoc(), getRows().getType(), resultGrads[0],
                                  getRowOf(), getWeights(), ArrayAttr(), getBlocksAttr());
  if (getWeights() && needed[2])
    grads[2] = UnpackWeightGradOp::create(builder, getLoc(), getWeights().getType(), getRows(),
                                          getRowOf(), resultGrads[0], ArrayAttr());
  return success();
}

// As graph.linear for the rows of each expert: dx = dy w^T, dw = x^T dy.
LogicalResult GroupedLinearOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                             ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(3, Value());
  Value dy = resultGrads[0];
  // Casts dy: matrix products take operands of one type; the result may be wider.
  if (Type narrow = tensorType(getX()).getElementType(); getType().getElementType() != narrow)
    dy = CastOp::create(builder, getLoc(), RankedTensorType::get(getType().getShape(), narrow), dy);
  if (needed[0])
    grads[0] =
        GroupedLinearOp::create(builder, getLoc(), getX().getType(), dy, getWeight(), getCounts(),
                                getTransposed() ? UnitAttr() : builder.getUnitAttr());
  if (needed[1])
    grads[1] = GroupedLinearWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(),
                                                 dy, getCounts(), getTransposedAttr());
  return success();
}
