// Gradients of the layers.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// y[r, o] = sum over i of x[r, i] w[i, o]: dx[r, i] = sum over o of dy[r, o] w[i, o] is again a
// linear with the transposed weight; dw[i, o] = sum over r of x[r, i] dy[r, o]. Heads stay separate
// dims in both, so that gradients split along heads as forward does.
LogicalResult LinearOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  Value dy = resultGrads[0];
  // Casts dy: matrix products take operands of one type; the result may be wider.
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
// transposed matrix product.
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

// y[t] = table[ids[t]]: dtable[w] = sum of dy[t] over the t that looked w up, or 0 for the padding
// row.
LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (needed[0])
    grads[0] = EmbeddingGradOp::create(builder, getLoc(), getTable().getType(), getIds(),
                                       resultGrads[0], getPaddingAttr(), getWindowsAttr());
  return success();
}

// y = n w + b with n = (x - m) r, m = mean(x), r = 1 / sqrt(mean((x - m)^2) + e), over C columns.
// dw = sum over rows of dy n, db = sum over rows of dy. With g = dy w and dn = g: dr = sum(g (x -
// m)), d(x - m) = g r - n r mean(g n) because r' = -r^3 (x - m) / C and (x - m) = n / r, and dx
// subtracts the mean: dx = r (g - mean(g) - n mean(g n)), because mean(n) = 0. Two ops compute
// them, since dw and db sum over other dims than dx: columns split in one, rows in the other.
// Source: Ba, Kiros and Hinton 2016, arXiv:1607.06450.
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

// y = n w with n = x r, r = 1 / sqrt(mean(x^2) + e): dw = sum over rows of dy n, and with g = dy w
// dx = r (g - n mean(g n)), by r' = -r^3 x / C. Source: Zhang and Sennrich 2019, arXiv:1910.07467.
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

// The inverse rotation is also the transpose.
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

// Builds the gradient of sinks z [heads] of attention: with P = exp(z - lse) [batch, heads,
// queries], the weight of a sink, and D = rowsum(dout out), dz = sum over batch and queries of P
// (dlse - D), since a sink has no value.
static Value sinksGradient(OpBuilder &builder, AttentionOp op, Value dout, Value dlse) {
  Location loc = op.getLoc();
  Type f32 = builder.getF32Type();
  RankedTensorType rows = tensorType(op.getLse()), heads = tensorType(dout);
  auto wide = [&](Value x) -> Value {
    return heads.getElementType() == f32 ? x : CastOp::create(builder, loc, heads.clone(f32), x);
  };
  Value products =
      MultiplyOp::create(builder, loc, heads.clone(f32), wide(op.getResult()), wide(dout));
  Value delta =
      ReduceOp::create(builder, loc, RankedTensorType::get(heads.getShape().drop_back(), f32),
                       products, ReduceKind::Sum, ArrayRef<int64_t>{3});
  delta = TransposeOp::create(builder, loc, rows, delta, builder.getDenseI64ArrayAttr({0, 2, 1}));
  if (dlse)
    delta = SubtractOp::create(builder, loc, rows, delta, dlse);
  Value each = ReshapeOp::create(builder, loc, RankedTensorType::get({rows.getDimSize(1), 1}, f32),
                                 op.getSinks());
  Value weights =
      ExpOp::create(builder, loc, SubtractOp::create(builder, loc, rows, each, op.getLse()));
  Value terms = MultiplyOp::create(builder, loc, rows, weights, delta);
  return ReduceOp::create(builder, loc, op.getSinks().getType(), terms, ReduceKind::Sum,
                          ArrayRef<int64_t>{0, 2}, llvm::APFloat(-1.0), ArrayAttr());
}

// Builds one op for all three gradients, which share the scores. With P = exp(s q k^T - lse),
// recomputed from q, k and lse, and D = rowsum(dout out): dv = P^T dout, dP = dout v^T, dS = P (dP
// - D), dq = s dS k, dk = s dS^T q. P are the derivatives of lse by the scores, so that a gradient
// of lse adds P dlse to dS. Bias is added to scores behind s and soft caps: its gradient is dS in
// front of both. Sinks are in lse, and change nothing else of this. Source: Dao et al. 2022,
// arXiv:2205.14135, appendix B.2; lse instead of maximum and sum: Dao 2023, arXiv:2307.08691,
// algorithm 2.
LogicalResult AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                         ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (!resultGrads[0])
    return emitOpError() << "has a gradient of 'lse', but none of its result";
  unsigned stepIndex = getNumOperands() - 1;
  if (getStep() && failed(refuseOperand(*this, needed, stepIndex, "step")))
    return failure();
  constexpr unsigned kSinks = 3, kBias = 5, kSlopes = 6; // of the op's definition
  unsigned biasIndex = getODSOperandIndexAndLength(kBias).first;
  unsigned slopesIndex = getODSOperandIndexAndLength(kSlopes).first;
  if (getSlopes() && failed(refuseOperand(*this, needed, slopesIndex, "slopes")))
    return failure();
  if (unsigned sinksIndex = getODSOperandIndexAndLength(kSinks).first;
      getSinks() && needed[sinksIndex])
    grads[sinksIndex] = sinksGradient(builder, *this, resultGrads[0], resultGrads[1]);
  bool needsBias = getBias() && needed[biasIndex];
  if (!needed[0] && !needed[1] && !needed[2] && !needsBias)
    return success();
  auto grad = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(),
      needsBias ? getBias().getType() : Type(), getQ(), getK(), getV(), getResult(), getLse(),
      resultGrads[0], resultGrads[1], getLengths(), getBias(), getSlopes(), getDocuments(),
      getStarts(), getSeed(), getStep(), getCausalAttr(), getSlidingAttr(), getPrefixAttr(),
      getSoftCapAttr(), getScaleAttr(), getDropoutAttr(), getIdAttr(), getWindowsAttr());
  if (needsBias)
    grads[biasIndex] = grad.getDbias();
  for (unsigned i = 0; i < 3; ++i)
    if (needed[i])
      grads[i] = grad.getResult(i);
  return success();
}

// loss = lse - x[t] with lse = log(sum(exp(x))): dlse / dx = exp(x) / sum(exp(x)) = exp(x - lse),
// the softmax, so dx = (exp(x - lse) - onehot(t)) dloss. Uses lse, one number per row, and not a
// saved softmax, which would be another tensor as large as the logits.
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

// dy_i / dx_j = y_i (delta_ij - y_j), so dx = (dy - sum(dy y)) y: needs the result alone.
LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0])
    grads[0] = SoftmaxGradOp::create(builder, getLoc(), getType(), getResult(), resultGrads[0]);
  return success();
}

// The mask is linear and depends on the key alone: the gradient is the same op on dy.
LogicalResult DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseOperand(*this, needed, 2, "step")))
    return failure();
  if (needed[0])
    grads[0] = DropoutOp::create(builder, getLoc(), getType(), resultGrads[0], getSeed(), getStep(),
                                 getPAttr(), getIdAttr(), getGlobalShapeAttr(), getWindowsAttr());
  return success();
}
