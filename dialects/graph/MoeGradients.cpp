// Gradients of a mixture of experts.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/MoeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Adds up the gradients through the chosen p and through importance, the sum of all p: both go
// through the softmax over the experts, so one op computes its gradient. The choice of experts is
// piecewise constant and has no gradient (Shazeer et al. 2017, arXiv:1701.06538, section 2.1).
LogicalResult MoeRouterOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (resultGrads[3])
    return emitOpError() << "has no gradient through 'load', which counts choices";
  if (needed[0] && (resultGrads[0] || resultGrads[4]))
    grads[0] =
        MoeRouterGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getExperts(),
                                resultGrads[0], resultGrads[4], getNormalisedAttr());
  return success();
}

// loss = c sum over e of load[e] importance[e]: dimportance[e] = c load[e] dloss. The load counts
// choices, so no gradient flows through it.
LogicalResult MoeBalanceLossOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                              ArrayRef<bool> needed,
                                              SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (!needed[1])
    return success();
  auto tokens = static_cast<double>(getTokens());
  double scale = getCoefficient().convertToDouble() *
                 static_cast<double>(tensorType(getLoad()).getDimSize(1)) / (tokens * tokens);
  Type type = getImportance().getType();
  Value repeated = repeatLike(builder, getLoc(), resultGrads[0], {1}, getImportance());
  Value scaled =
      ScaleOp::create(builder, getLoc(), type, getLoad(), builder.getF64FloatAttr(scale));
  grads[1] = MultiplyOp::create(builder, getLoc(), type, scaled, repeated);
  return success();
}

// Fails with a diagnostic if the gradient of the choices is needed: indices have none.
template <typename OpTy> static LogicalResult refuseChoices(OpTy op, ArrayRef<bool> needed) {
  if (failed(refuseOperand(op, needed, 1, "experts")))
    return failure();
  return refuseOperand(op, needed, 2, "slots");
}

// rows = S x w, where S selects a token for each row: dx = S^T (drows w), which combine computes,
// and dw = drows x for each choice. Dropped choices select no row and get no gradient.
LogicalResult MoeDispatchOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                           ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseChoices(*this, needed)))
    return failure();
  Value drows = resultGrads[0];
  if (needed[0])
    grads[0] = MoeCombineOp::create(builder, getLoc(), getTokens().getType(), drows, getExperts(),
                                    getSlots(), getWeights(), getGroupAttr(), getCapacityAttr(),
                                    getWindowsAttr());
  if (getWeights() && needed[3])
    grads[3] = MoeWeightGradOp::create(builder, getLoc(), getWeights().getType(), drows,
                                       getExperts(), getSlots(), getTokens(), getGroupAttr(),
                                       getCapacityAttr(), getWindowsAttr());
  return success();
}

// y = sum over choices of S^T (rows w), the transpose of dispatch: drows = S dy w, dw = rows dy.
LogicalResult MoeCombineOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                          ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseChoices(*this, needed)))
    return failure();
  Value dy = resultGrads[0];
  if (needed[0])
    grads[0] =
        MoeDispatchOp::create(builder, getLoc(), getRows().getType(), dy, getExperts(), getSlots(),
                              getWeights(), getGroupAttr(), getCapacityAttr(), getWindowsAttr());
  if (getWeights() && needed[3])
    grads[3] = MoeWeightGradOp::create(builder, getLoc(), getWeights().getType(), getRows(),
                                       getExperts(), getSlots(), dy, getGroupAttr(),
                                       getCapacityAttr(), getWindowsAttr());
  return success();
}

// As graph.linear for each expert e: dx[e] = dy[e] w[e]^T, dw[e] = x[e]^T dy[e]. Rows without a
// token are zero in x and dy and add nothing.
LogicalResult ExpertLinearOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                            ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  Value dy = resultGrads[0];
  // Casts dy: matrix products take operands of one type; the result may be wider.
  if (Type narrow = tensorType(getX()).getElementType(); getType().getElementType() != narrow)
    dy = CastOp::create(builder, getLoc(), RankedTensorType::get(getType().getShape(), narrow), dy);
  if (needed[0])
    grads[0] =
        ExpertLinearOp::create(builder, getLoc(), getX().getType(), dy, getWeight(),
                               getTransposed() ? UnitAttr() : builder.getUnitAttr(), getFillAttr());
  if (needed[1])
    grads[1] = ExpertLinearWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(),
                                                dy, getTransposedAttr(), getFillAttr());
  return success();
}
