// Gradients of the layers.
#include "dialects/graph/Gradients.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

LogicalResult LinearOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  Value dy = resultGrads[0];
  // Products take operands of one type; the result may be wider.
  if (Type narrow = tensorType(getX()).getElementType(); getType().getElementType() != narrow)
    dy = CastOp::create(builder, getLoc(), RankedTensorType::get(getType().getShape(), narrow), dy);
  int64_t out = tensorType(getWeight()).getRank() - getContract();
  if (needed[0])
    grads[0] = LinearOp::create(builder, getLoc(), getX().getType(), dy, getWeight(), out,
                                !getTransposed());
  if (needed[1])
    grads[1] = LinearWeightGradOp::create(builder, getLoc(), getWeight().getType(), getX(), dy,
                                          getContract(), getTransposed());
  return success();
}

// c = op(a) op(b), so d op(a) = dc op(b)^T and d op(b) = op(a)^T dc; a transposed operand gets the
// transposed product.
LogicalResult MatmulOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  Value dc = resultGrads[0];
  if (Type narrow = tensorType(getA()).getElementType(); getType().getElementType() != narrow)
    dc = CastOp::create(builder, getLoc(), RankedTensorType::get(getType().getShape(), narrow), dc);
  bool ta = getTransposeA(), tb = getTransposeB();
  auto product = [&](Value like, Value a, bool transposeA, Value b, bool transposeB) -> Value {
    return MatmulOp::create(builder, getLoc(), like.getType(), a, b, transposeA, transposeB);
  };
  if (needed[0])
    grads[0] = ta ? product(getA(), getB(), tb, dc, true) : product(getA(), dc, false, getB(), !tb);
  if (needed[1])
    grads[1] = tb ? product(getB(), dc, true, getA(), ta) : product(getB(), getA(), !ta, dc, false);
  return success();
}

LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (needed[0])
    grads[0] = EmbeddingGradOp::create(builder, getLoc(), getTable().getType(), getIds(),
                                       resultGrads[0], getWindowsAttr());
  return success();
}

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(3, Value());
  if (failed(refuseGradient(*this, resultGrads, 1, "mean")) ||
      failed(refuseGradient(*this, resultGrads, 2, "rstd")))
    return failure();
  Value dy = resultGrads[0];
  if (needed[0])
    grads[0] = LayerNormGradOp::create(builder, getLoc(), getX().getType(), getX(), getWeight(),
                                       getMean(), getRstd(), dy);
  if (!needed[1] && !needed[2])
    return success();
  auto params = LayerNormParamGradOp::create(builder, getLoc(), getWeight().getType(),
                                             getBias().getType(), getX(), getMean(), getRstd(), dy);
  if (needed[1])
    grads[1] = params.getDweight();
  if (needed[2])
    grads[2] = params.getDbias();
  return success();
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (failed(refuseGradient(*this, resultGrads, 1, "rstd")))
    return failure();
  Value dy = resultGrads[0];
  if (needed[0])
    grads[0] = RmsNormGradOp::create(builder, getLoc(), getX().getType(), getX(), getWeight(),
                                     getRstd(), dy);
  if (needed[1])
    grads[1] =
        RmsNormParamGradOp::create(builder, getLoc(), getWeight().getType(), getX(), getRstd(), dy);
  return success();
}

// A rotation is undone by the inverse rotation, which is also its transpose.
LogicalResult RotaryOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(3, Value());
  if (failed(refuseOperand(*this, needed, 1, "cos")) ||
      failed(refuseOperand(*this, needed, 2, "sin")))
    return failure();
  if (needed[0])
    grads[0] = RotaryOp::create(builder, getLoc(), getType(), resultGrads[0], getCos(), getSin(),
                                !getInverse());
  return success();
}

LogicalResult AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseGradient(*this, resultGrads, 1, "lse")))
    return failure();
  unsigned stepIndex = getNumOperands() - 1;
  if (getStep() && failed(refuseOperand(*this, needed, stepIndex, "step")))
    return failure();
  if (!needed[0] && !needed[1] && !needed[2])
    return success();
  auto grad = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(), getQ(), getK(),
      getV(), getResult(), getLse(), resultGrads[0], getSeed(), getStep(), getCausalAttr(),
      getSlidingAttr(), getScaleAttr(), getDropoutAttr(), getIdAttr(), getFirstSampleAttr(),
      getWindowsAttr());
  for (unsigned i = 0; i < 3; ++i)
    if (needed[i])
      grads[i] = grad.getResult(i);
  return success();
}

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                            ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (failed(refuseGradient(*this, resultGrads, 1, "lse")))
    return failure();
  if (needed[0])
    grads[0] = CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(),
                                          getTargets(), getLse(), resultGrads[0], getIgnoringAttr(),
                                          ArrayAttr());
  return success();
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = SoftmaxGradOp::create(builder, getLoc(), getType(), getResult(), resultGrads[0]);
  return success();
}

// The mask is linear and depends on the key alone: the same op on dy.
LogicalResult DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseOperand(*this, needed, 2, "step")))
    return failure();
  if (needed[0])
    grads[0] = DropoutOp::create(builder, getLoc(), getType(), resultGrads[0], getSeed(), getStep(),
                                 getPAttr(), getIdAttr(), getFirstSampleAttr(),
                                 getGlobalShapeAttr(), getWindowsAttr());
  return success();
}
