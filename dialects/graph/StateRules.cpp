// Rules and gradients of batch norm and of the ops about state, and batch norm as ops with one sum
// each.
#include "dialects/graph/StateOps.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/Gradients.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/StateAttributes.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// y = x; nothing moves the state and its value along with x.
OpRule ObserveOp::getRule() {
  RuleBuilder builder;
  TensorLoops dims = builder.loops(getX());
  builder.operand(dims)
      .operand(TensorLoops(tensorType(getState()).getRank()))
      .operand(TensorLoops(tensorType(getValue()).getRank()));
  return builder.result(dims).flops(0).zeroPreserving().take();
}

// y = x, and not linear, so that x is no partial sum.
OpRule FinishOp::getRule() {
  RuleBuilder builder;
  TensorLoops dims = builder.loops(getX());
  return builder.operand(dims).result(dims).flops(0).kind(OpKind::View).zeroPreserving().take();
}

// A sum on all ranks is the same value, so its gradient is.
LogicalResult FinishOp::buildGradient(OpBuilder &, ValueRange resultGrads, ArrayRef<bool>,
                                      SmallVectorImpl<Value> &grads) {
  grads.assign(1, resultGrads[0]);
  return success();
}

// The value stands where the gradient of the state would. What gives it has no gradient. The last
// of several micro-batches has the value of each, whose sum the update divides (kCopiesAttr).
LogicalResult ObserveOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                       ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(3, Value());
  grads[0] = resultGrads[0];
  if (!needed[1])
    return success();
  grads[1] = getValue();
  auto microBatches =
      (*this)->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
  if (getKind() == ObserveKind::Mean && microBatches && microBatches.getInt() > 1)
    grads[1] =
        ScaleOp::create(builder, getLoc(), getValue(),
                        builder.getF64FloatAttr(1 / static_cast<double>(microBatches.getInt())));
  return success();
}

// y[b, c, ...] needs the statistics of channel c over b and all dims behind c.
OpRule BatchNormaliseOp::getRule() {
  RuleBuilder builder;
  RankedTensorType type = tensorType(getX());
  TensorLoops dims, channels;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    dims.push_back(
        builder.loop(type.getDimSize(dim), dim == 1 ? LoopKind::Parallel : LoopKind::Staged));
  channels.push_back(dims[1]);
  builder.operand(dims).operand(channels).operand(channels);
  if (!getHeld().empty())
    builder.operand(channels).operand(channels).operand({});
  builder.result(dims).result(channels).result(channels).result(channels);
  return builder.flops(8).kind(OpKind::Normalisation).channels(channels).take();
}

namespace {

// Emits arithmetic in f32 over tensors [batch, channels, ...] and [channels].
class Channels {
public:
  // `isExchanged`: ranks of data parallelism share the batch that sums are over.
  Channels(OpBuilder &builder, Location loc, Value x, bool isReduced)
      : builder(builder), loc(loc), whole(tensorType(x)), isReduced(isReduced) {
    for (int64_t dim = 0; dim < whole.getRank(); ++dim)
      if (dim != 1) {
        dims.push_back(dim);
        count *= static_cast<double>(whole.getDimSize(dim));
      }
  }

  // Returns the number of elements of a channel.
  double elements() const { return count; }

  Value as(Value x, Type element) {
    RankedTensorType type = tensorType(x);
    return type.getElementType() == element
               ? x
               : CastOp::create(builder, loc, type.clone(element), x).getResult();
  }
  Value wide(Value x) { return as(x, builder.getF32Type()); }

  // Applies a binary op; the result has the shape of the operand with more dims.
  template <typename OpTy> Value apply(Value a, Value b) {
    Value shape = tensorType(a).getNumElements() < tensorType(b).getNumElements() ? b : a;
    return OpTy::create(builder, loc, shape.getType(), a, b);
  }
  Value add(Value a, Value b) { return apply<AddOp>(a, b); }
  Value subtract(Value a, Value b) { return apply<SubtractOp>(a, b); }
  Value multiply(Value a, Value b) { return apply<MultiplyOp>(a, b); }

  Value constant(double value) {
    return ConstantOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()),
                              builder.getF64FloatAttr(value));
  }
  Value scale(Value x, double factor) {
    return ScaleOp::create(builder, loc, x, builder.getF64FloatAttr(factor));
  }

  // Returns scale * sum over each channel, on whichever ranks its elements are: first over each
  // channel of a sample, so that there are many sums side by side, and none is long.
  Value sum(Value x, double scale = 1) {
    if (whole.getRank() > 2)
      x = reduce(x, 2, ArrayRef<int64_t>(dims).drop_front(), 1);
    Value sum = reduce(x, 1, dims.front(), scale);
    if (isReduced)
      sum.getDefiningOp()->setAttr(kStatisticAttr, builder.getUnitAttr());
    return FinishOp::create(builder, loc, sum.getType(), sum);
  }
  Value mean(Value x) { return sum(x, 1 / count); }

  // Returns [channels] as [channels, 1, ...], which is the same in every place of a channel.
  Value spread(Value x) {
    SmallVector<int64_t> shape(static_cast<size_t>(whole.getRank() - 1), 1);
    shape[0] = whole.getDimSize(1);
    RankedTensorType type = tensorType(x).clone(shape);
    return type == x.getType() ? x : ReshapeOp::create(builder, loc, type, x).getResult();
  }

  // Returns 1 / sqrt(variance + epsilon).
  Value inverseRoot(Value variance, const llvm::APFloat &epsilon) {
    Value shifted = add(variance, constant(epsilon.convertToDouble()));
    Value root = SqrtOp::create(builder, loc, shifted.getType(), shifted);
    return DivideOp::create(builder, loc, root.getType(), constant(1), root);
  }

private:
  // Sums over `over`; the result has the last of the first two dims, `kept` of them.
  Value reduce(Value x, size_t kept, ArrayRef<int64_t> over, double scale) {
    auto type =
        RankedTensorType::get(whole.getShape().take_front(2).take_back(kept), builder.getF32Type());
    auto kind = ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum);
    return ReduceOp::create(builder, loc, type, x, kind, builder.getDenseI64ArrayAttr(over),
                            builder.getF64FloatAttr(scale), ArrayAttr());
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType whole;
  bool isReduced;
  SmallVector<int64_t> dims; // all but the channels
  double count = 1;
};

} // namespace

// The gradient of ioffe2015, section 3, with the sums over a channel apart: s = sum(dy (x - mean))
// gives dweight = s r, and dx = weight r (dy - mean(dy) - (x - mean) r^2 s / n).
LogicalResult BatchNormaliseOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                              ArrayRef<bool> needed,
                                              SmallVectorImpl<Value> &grads) {
  grads.assign(getNumOperands(), Value());
  if (failed(refuseGradient(*this, resultGrads, 1, "mean")) ||
      failed(refuseGradient(*this, resultGrads, 2, "variance")) ||
      failed(refuseGradient(*this, resultGrads, 3, "unbiased")))
    return failure();
  Channels c(builder, getLoc(), getX(), !getParts());
  Value dy = c.wide(resultGrads[0]);
  Value sum = c.sum(dy);
  if (needed[2])
    grads[2] = c.as(sum, tensorType(getBias()).getElementType());
  if (!needed[0] && !needed[1])
    return success();
  Value rstd = c.inverseRoot(getVariance(), getEpsilon());
  Value centred = c.subtract(c.wide(getX()), c.spread(getMean()));
  Value products = c.multiply(c.sum(c.multiply(dy, centred)), rstd);
  if (needed[1])
    grads[1] = c.as(products, tensorType(getWeight()).getElementType());
  if (!needed[0])
    return success();
  Value ofMean = c.spread(c.scale(sum, 1 / c.elements()));
  Value ofVariance = c.spread(c.scale(c.multiply(products, rstd), 1 / c.elements()));
  Value rest = c.subtract(c.subtract(dy, ofMean), c.multiply(centred, ofVariance));
  Value dx = c.multiply(rest, c.spread(c.multiply(c.wide(getWeight()), rstd)));
  grads[0] = c.as(dx, tensorType(getX()).getElementType());
  return success();
}

// The variance is that of x - mean, not mean(x^2) - mean^2, which loses its digits where the mean
// is large.
LogicalResult BatchNormaliseOp::writeSums() {
  OpBuilder builder(*this);
  Channels c(builder, getLoc(), getX(), !getParts());
  if (c.elements() < 2)
    return emitOpError("normalises over the batch, which has one element per channel, so that "
                       "there is no variance; use a larger batch");
  Operation *before = (*this)->getPrevNode();
  Value x = c.wide(getX()), mean = c.mean(x);
  Value centred = c.subtract(x, c.spread(mean));
  Value variance = c.mean(c.multiply(centred, centred));
  Value unbiased = c.scale(variance, c.elements() / (c.elements() - 1));
  Value usedVariance = variance;
  if (!getHeld().empty()) {
    Value trains = CompareOp::create(builder, getLoc(), getHeld()[2].getType(), getHeld()[2],
                                     c.constant(0), CompareKind::Gt);
    auto choose = [&](Value own, Value held) -> Value {
      return WhereOp::create(builder, getLoc(), own.getType(), trains, own, held);
    };
    usedVariance = choose(variance, getHeld()[1]);
    centred = c.subtract(x, c.spread(choose(mean, getHeld()[0])));
  }
  Value slope = c.multiply(c.wide(getWeight()), c.inverseRoot(usedVariance, getEpsilon()));
  Value y = c.add(c.multiply(centred, c.spread(slope)), c.spread(c.wide(getBias())));
  y = c.as(y, tensorType(getX()).getElementType());
  Operation *first = before ? before->getNextNode() : &(*this)->getBlock()->front();
  for (Operation *op = first; op != getOperation(); op = op->getNextNode())
    for (NamedAttribute attribute : (*this)->getDiscardableAttrs())
      if (op->getNumOperands() > 0) // constants belong to no chunk
        op->setAttr(attribute.getName(), attribute.getValue());
  SmallVector<Value> values{y, mean, variance, unbiased};
  (*this)->replaceAllUsesWith(values);
  (*this)->erase();
  return success();
}
