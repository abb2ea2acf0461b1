// Checks of the backward ops.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Checks x[lead..., in...] dy[lead..., out...] -> [in..., out...], or with `transposed` [out...,
// in...], as the weight of graph.linear.
LogicalResult LinearWeightGradOp::verify() {
  RankedTensorType x = tensorType(getX()), dy = tensorType(getDy());
  int64_t contract = getContract();
  if (contract < 1 || contract > x.getRank()) // linear_weight_grad_c1
    return emitOpError() << "contracts " << contract << " dims, but 'x' has " << x.getRank();
  int64_t lead = x.getRank() - contract;
  if (failed(checkAtLeastDims(*this, "dy", dy, lead + 1))) // linear_weight_grad_c2
    return failure();
  for (int64_t dim = 0; dim < lead; ++dim) // linear_weight_grad_c2
    if (dy.getDimSize(dim) != x.getDimSize(dim))
      return emitOpError() << "dim " << dim << " of 'dy' is " << sizeText(dy.getDimSize(dim))
                           << ", but dim " << dim << " of 'x' is " << sizeText(x.getDimSize(dim));
  DimList wanted;
  if (getTransposed())
    wanted.dims("dy", dy, lead, dy.getRank()).dims("x", x, lead, x.getRank());
  else
    wanted.dims("x", x, lead, x.getRank()).dims("dy", dy, lead, dy.getRank());
  if (failed(wanted.check(*this, "result", getType())) || // linear_weight_grad_c3
      failed(checkSameElement(*this, "dy", dy, "x", x)))  // linear_weight_grad_c4
    return failure();
  return checkProductElement(*this, getType(), "x", x); // linear_weight_grad_c5
}

// Checks ids[...] dy[..., c] -> [entries, c]. Sums over ids may be in f32 if dy is narrower.
LogicalResult EmbeddingGradOp::verify() {
  RankedTensorType ids = tensorType(getIds()), dy = tensorType(getDy()), result = getType();
  if (failed(checkNumDims(*this, "result", result, 2)) || // embedding_grad_c1
      failed(DimList()                                    // embedding_grad_c2
                 .all("ids", ids)
                 .dims("result", result, 1, 2)
                 .check(*this, "dy", dy)) ||
      failed(checkProductElement(*this, result, "dy", dy))) // embedding_grad_c3
    return failure();
  if (failed(checkWindows(*this, getWindows()))) // embedding_grad_c4
    return failure();
  return checkPadding(*this, getPadding(), getWindows(), result.getDimSize(0)); // embedding_grad_c5
}

using Named = std::pair<StringRef, Value>;

// Checks x, dy and dx of a norm's gradient and the statistics of its rows, for x[rows..., c]:
// `likeX` have its shape, `rows` are [rows...] in f32, `columns` are [c].
static LogicalResult verifyNormGrad(Operation *op, ArrayRef<Named> likeX, ArrayRef<Named> rows,
                                    ArrayRef<Named> columns) {
  RankedTensorType x = tensorType(op->getOperand(0));
  if (failed(checkAtLeastDims(op, "x", x, 1))) // norm_grad_c1
    return failure();
  int64_t last = x.getRank() - 1;
  for (auto [name, value] : likeX) // norm_grad_c2
    if (failed(DimList().all("x", x).check(op, name, tensorType(value))) ||
        failed(checkSameElement(op, name, value.getType(), "x", x)))
      return failure();
  for (auto [name, value] : rows) // norm_grad_c3
    if (failed(DimList().dims("x", x, 0, last).check(op, name, tensorType(value))) ||
        failed(checkF32(op, name, value.getType())))
      return failure();
  for (auto [name, value] : columns) // norm_grad_c4
    if (failed(DimList().dims("x", x, last, last + 1).check(op, name, tensorType(value))) ||
        failed(checkProductElement(op, value.getType(), "x", x)))
      return failure();
  return success();
}

LogicalResult LayerNormGradOp::verify() {
  return verifyNormGrad(*this, {{"dy", getDy()}, {"result", getResult()}},
                        {{"mean", getMean()}, {"rstd", getRstd()}}, {{"weight", getWeight()}});
}
LogicalResult LayerNormParamGradOp::verify() {
  return verifyNormGrad(*this, {{"dy", getDy()}}, {{"mean", getMean()}, {"rstd", getRstd()}},
                        {{"dweight", getDweight()}, {"dbias", getDbias()}});
}
LogicalResult RmsNormGradOp::verify() {
  return verifyNormGrad(*this, {{"dy", getDy()}, {"result", getResult()}}, {{"rstd", getRstd()}},
                        {{"weight", getWeight()}});
}
LogicalResult RmsNormParamGradOp::verify() {
  return verifyNormGrad(*this, {{"dy", getDy()}}, {{"rstd", getRstd()}}, {{"result", getResult()}});
}

// Checks logits[rows..., entries] targets, lse, dloss[rows...] -> the shape of logits.
LogicalResult CrossEntropyGradOp::verify() {
  RankedTensorType logits = tensorType(getLogits());
  if (failed(checkAtLeastDims(*this, "logits", logits, 1))) // cross_entropy_grad_c1
    return failure();
  DimList rows;
  rows.dims("logits", logits, 0, logits.getRank() - 1);
  for (auto [name, value] :
       {Named{"targets", getTargets()}, {"lse", getLse()}, {"dloss", getDloss()}})
    if (failed(rows.check(*this, name, tensorType(value)))) // cross_entropy_grad_c2
      return failure();
  if (failed(checkF32(*this, "lse", getLse().getType())) || // cross_entropy_grad_c3
      failed(checkF32(*this, "dloss", getDloss().getType())))
    return failure();
  if (failed(DimList()
                 .all("logits", logits)
                 .check(*this, "result", getType())) || // cross_entropy_grad_c4
      failed(checkSameElement(*this, "result", getType(), "logits", logits)))
    return failure();
  if (failed(
          checkIgnoring(*this, getIgnoring(), tensorType(getTargets())))) // cross_entropy_grad_c6
    return failure();
  return checkWindows(*this, getWindows()); // cross_entropy_grad_c5
}

LogicalResult SoftmaxGradOp::verify() {
  return checkAtLeastDims(*this, "y", tensorType(getY()), 1); // softmax_grad_c1
}

#define GET_OP_CLASSES
#include "dialects/graph/GradientOps.cpp.inc"
