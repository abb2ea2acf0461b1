// Checks attention and its gradient.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Checks q[batch, queries, heads, d], k and v[batch, keys, kv heads, d], lse[batch, heads, queries]
// in f32 and the operands of random numbers, which both ops have. Each kv head serves heads / kv
// heads query heads (Ainslie et al. 2023, arXiv:2305.13245), so this must be a whole number. The
// last query sees the last key; with fewer keys than queries the first queries would see none, and
// a softmax over nothing is NaN.
template <typename OpTy> static LogicalResult verifyAttention(OpTy op) {
  RankedTensorType q = tensorType(op.getQ()), k = tensorType(op.getK()), v = tensorType(op.getV());
  if (failed(checkNumDims(op, "q", q, 4)) || failed(checkNumDims(op, "k", k, 4))) // attention_c1
    return failure();
  for (int64_t dim : {0, 3}) // attention_c2
    if (k.getDimSize(dim) != q.getDimSize(dim))
      return op.emitOpError() << "dim " << dim << " of 'k' is " << sizeText(k.getDimSize(dim))
                              << ", but dim " << dim << " of 'q' is "
                              << sizeText(q.getDimSize(dim));
  for (int64_t dim : {1, 2, 3})
    if (q.isDynamicDim(dim) || k.isDynamicDim(dim)) // attention_c3
      return op.emitOpError() << "dim " << dim << " is dynamic; only the batch (dim 0) may be";
  int64_t heads = q.getDimSize(2), kvHeads = k.getDimSize(2);
  if (kvHeads == 0 || heads % kvHeads != 0) // attention_c4
    return op.emitOpError() << "dim 2 of 'q' is " << heads
                            << ", but a multiple of dim 2 of 'k', which is " << kvHeads
                            << ", is wanted";
  if (failed(DimList().all("k", k).check(op, "v", v))) // attention_c5
    return failure();
  if (Value lse = op.getLse()) // attention_c6
    if (failed(DimList()
                   .dims("q", q, 0, 1)
                   .dims("q", q, 2, 3)
                   .dims("q", q, 1, 2)
                   .check(op, "lse", tensorType(lse))) ||
        failed(checkF32(op, "lse", lse.getType())))
      return failure();
  for (auto [name, type] : {std::pair<StringRef, Type>{"k", k}, {"v", v}})
    if (failed(checkSameElement(op, name, type, "q", q))) // attention_c7
      return failure();
  double dropout = op.getDropout().convertToDouble();
  if (!(dropout >= 0 && dropout < 1)) // attention_c8
    return op.emitOpError() << "'dropout' is " << numberText(dropout)
                            << ", but a number from 0 to below 1 is wanted";
  if (op.getCausal() && k.getDimSize(1) < q.getDimSize(1)) // attention_c10
    return op.emitOpError() << "is causal with " << q.getDimSize(1) << " queries, but only "
                            << k.getDimSize(1) << " keys, so that early queries see none";
  if (std::optional<uint64_t> sliding = op.getSliding()) { // attention_c13
    if (static_cast<int64_t>(*sliding) < 1)
      return op.emitOpError() << "'sliding' is " << static_cast<int64_t>(*sliding)
                              << ", but 1 key or more is wanted";
    if (!op.getCausal())
      return op.emitOpError() << "is 'sliding' but not 'causal'; a window ends at the query";
  }
  if (std::optional<llvm::APFloat> cap = op.getSoftCap(); cap && !(cap->convertToDouble() > 0))
    return op.emitOpError() << "'soft_cap' is " << numberText(cap->convertToDouble())
                            << ", but a number greater than 0 is wanted"; // attention_c14
  return checkWindows(op, op.getWindows());                               // attention_c11
}

// Requires the type of q for the result: head_dim of keys and values is the same here.
LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)) ||
      failed(checkKey(*this, getId().has_value(), getSeed(), getStep()))) // attention_c9
    return failure();
  if (Value sinks = getSinks()) { // attention_c15
    if (getLse())
      return emitOpError() << "has 'sinks' and 'lse', which is that of the softmax without them";
    if (failed(checkF32(*this, "sinks", sinks.getType())) ||
        failed(
            DimList().dims("q", tensorType(getQ()), 2, 3).check(*this, "sinks", tensorType(sinks))))
      return failure();
  }
  RankedTensorType q = tensorType(getQ());
  if (failed(
          DimList().all("q", q).check(*this, "result", tensorType(getResult())))) // attention_c12
    return failure();
  return checkSameElement(*this, "result", getResult().getType(), "q", q); // attention_c7
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  if (!getDropout().isZero() && failed(checkKey(*this, true, getSeed(), getStep())))
    return failure(); // attention_c9
  RankedTensorType q = tensorType(getQ()), k = tensorType(getK());
  for (auto [name, value, like, likeName] :
       {std::tuple<StringRef, Value, RankedTensorType, StringRef>{"out", getOut(), q, "q"},
        {"dout", getDout(), q, "q"},
        {"dq", getDq(), q, "q"},
        {"dk", getDk(), k, "k"},
        {"dv", getDv(), k, "k"}}) // attention_grad_c1
    if (failed(DimList().all(likeName, like).check(*this, name, tensorType(value))) ||
        failed(checkSameElement(*this, name, value.getType(), likeName, like)))
      return failure();
  if (Value dlse = getDlse()) { // attention_grad_c2
    RankedTensorType lse = tensorType(getLse());
    if (failed(DimList().all("lse", lse).check(*this, "dlse", tensorType(dlse))))
      return failure();
    return checkF32(*this, "dlse", dlse.getType());
  }
  return success();
}
