// Gradients of a mixture of experts.
#include "dialects/graph/Gradients.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

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

// Counts of choices are steps: nothing flows through the load.
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

// Fails with a diagnostic when the gradient of what was chosen is needed: indices have none.
template <typename OpTy> static LogicalResult refuseChoices(OpTy op, ArrayRef<bool> needed) {
  if (failed(refuseOperand(op, needed, 1, "experts")))
    return failure();
  return refuseOperand(op, needed, 2, "slots");
}

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

LogicalResult ExpertLinearOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                            ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  Value dy = resultGrads[0];
  // Products take operands of one type; the result may be wider.
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
