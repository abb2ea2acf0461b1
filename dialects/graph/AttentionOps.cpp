// Checks attention and its gradient.
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Checks documents[batch, keys]: each query has the number of the key at its position.
template <typename OpTy> static LogicalResult verifyDocuments(OpTy op) { // attention_c20
  Value documents = op.getDocuments();
  if (!documents)
    return success();
  RankedTensorType q = tensorType(op.getQ()), k = tensorType(op.getK());
  if (failed(DimList().dims("k", k, 0, 2).check(op, "documents", tensorType(documents))))
    return failure();
  if (k.getDimSize(1) < q.getDimSize(1))
    return op.emitOpError() << "has 'documents' and " << q.getDimSize(1) << " queries, but only "
                            << k.getDimSize(1) << " keys, so that early queries have no document";
  if (op.getPrefix())
    return op.emitOpError("has 'documents' and a 'prefix', which all of them would see");
  return success();
}

// Checks starts[2]. Dropout and documents index keys by where the op has them.
template <typename OpTy> static LogicalResult verifyStarts(OpTy op) { // attention_c21
  Value starts = op.getStarts();
  if (!starts)
    return success();
  RankedTensorType type = tensorType(starts);
  if (failed(checkNumDims(op, "starts", type, 1)))
    return failure();
  if (type.getDimSize(0) != 2)
    return op.emitOpError() << "'starts' has " << sizeText(type.getDimSize(0))
                            << " elements, but the positions of the first query and of the first "
                               "key are wanted";
  for (auto [name, isThere] : {std::pair<StringRef, bool>{"documents", op.getDocuments()},
                               {"dropout", !op.getDropout().isZero()}})
    if (isThere)
      return op.emitOpError() << "has 'starts' and '" << name
                              << "', which indexes keys by where the op has them";
  return success();
}

// Checks lengths[batch], bias[batch, heads, queries, keys], any of which may be 1, and
// slopes[heads].
template <typename OpTy> static LogicalResult verifyScores(OpTy op) {
  RankedTensorType q = tensorType(op.getQ()), k = tensorType(op.getK());
  if (Value lengths = op.getLengths()) // attention_c16
    if (failed(DimList().dims("q", q, 0, 1).check(op, "lengths", tensorType(lengths))))
      return failure();
  if (Value bias = op.getBias()) { // attention_c17
    RankedTensorType type = tensorType(bias);
    if (failed(checkNumDims(op, "bias", type, 4)) || failed(checkF32(op, "bias", type)))
      return failure();
    const std::tuple<int64_t, const char *, int64_t> wanted[] = {{q.getDimSize(0), "q", 0},
                                                                 {q.getDimSize(2), "q", 2},
                                                                 {q.getDimSize(1), "q", 1},
                                                                 {k.getDimSize(1), "k", 1}};
    for (auto [dim, like] : llvm::enumerate(wanted)) {
      auto [size, name, of] = like;
      if (type.getDimSize(dim) != 1 && type.getDimSize(dim) != size)
        return op.emitOpError() << "dim " << dim << " of 'bias' is "
                                << sizeText(type.getDimSize(dim)) << ", but 1 or dim " << of
                                << " of '" << name << "', which is " << sizeText(size)
                                << ", is wanted";
    }
  }
  if (Value slopes = op.getSlopes()) // attention_c18
    if (failed(checkF32(op, "slopes", slopes.getType())) ||
        failed(DimList().dims("q", q, 2, 3).check(op, "slopes", tensorType(slopes))))
      return failure();
  if (std::optional<uint64_t> prefix = op.getPrefix()) { // attention_c19
    auto count = static_cast<int64_t>(*prefix);
    if (count < 1 || (count > k.getDimSize(1) && !op.getStarts()))
      return op.emitOpError() << "'prefix' is " << count << ", but 1 "
                              << (op.getStarts() ? "or more"
                                                 : "to " + std::to_string(k.getDimSize(1)))
                              << " keys are wanted";
    if (!op.getCausal() || op.getSliding())
      return op.emitOpError() << "has a 'prefix', but is " << (op.getCausal() ? "" : "not ")
                              << (op.getCausal() ? "'sliding'" : "'causal'");
  }
  if (failed(verifyDocuments(op)))
    return failure();
  return verifyStarts(op);
}

// Checks q[batch, queries, heads, d], k[batch, keys, kv heads, d], v[batch, keys, kv heads, any],
// lse[batch, heads, queries]
// in f32 and the operands of random numbers, which both ops have. Each kv head serves heads / kv
// heads query heads (Ainslie et al. 2023, arXiv:2305.13245), so this must be a whole number. Unless
// starts say otherwise, the last query sees the last key; with fewer keys than queries the first
// queries would see none, and a softmax over nothing is NaN.
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
  if (failed(checkNumDims(op, "v", v, 4)) || // attention_c5
      failed(DimList().dims("k", k, 0, 3).dims("v", v, 3, 4).check(op, "v", v)))
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
  if (op.getCausal() && !op.getStarts() && k.getDimSize(1) < q.getDimSize(1)) // attention_c10
    return op.emitOpError() << "is causal with " << q.getDimSize(1) << " queries, but only "
                            << k.getDimSize(1) << " keys, so that early queries see none";
  if (std::optional<uint64_t> sliding = op.getSliding()) { // attention_c13
    if (static_cast<int64_t>(*sliding) < 1)
      return op.emitOpError() << "'sliding' is " << static_cast<int64_t>(*sliding)
                              << ", but 1 key or more is wanted";
  }
  if (std::optional<llvm::APFloat> cap = op.getSoftCap(); cap && !(cap->convertToDouble() > 0))
    return op.emitOpError() << "'soft_cap' is " << numberText(cap->convertToDouble())
                            << ", but a number greater than 0 is wanted"; // attention_c14
  if (failed(verifyScores(op)))
    return failure();
  return checkWindows(op, op.getWindows()); // attention_c11
}

// Requires the dims of q for the result, and the head_dim of v.
LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)) ||
      failed(checkKey(*this, getId().has_value(), getSeed(), getStep()))) // attention_c9
    return failure();
  if (Value sinks = getSinks()) { // attention_c15
    if (failed(checkF32(*this, "sinks", sinks.getType())) ||
        failed(
            DimList().dims("q", tensorType(getQ()), 2, 3).check(*this, "sinks", tensorType(sinks))))
      return failure();
  }
  RankedTensorType q = tensorType(getQ());
  if (failed(DimList() // attention_c12
                 .dims("q", q, 0, 3)
                 .dims("v", tensorType(getV()), 3, 4)
                 .check(*this, "result", tensorType(getResult()))))
    return failure();
  return checkSameElement(*this, "result", getResult().getType(), "q", q); // attention_c7
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  if (!getDropout().isZero() && failed(checkKey(*this, true, getSeed(), getStep())))
    return failure(); // attention_c9
  RankedTensorType q = tensorType(getQ()), k = tensorType(getK()), v = tensorType(getV());
  DimList result = DimList().dims("q", q, 0, 3).dims("v", v, 3, 4);
  for (auto [name, value, dims] : {std::tuple<StringRef, Value, DimList>{"out", getOut(), result},
                                   {"dout", getDout(), result},
                                   {"dq", getDq(), DimList().all("q", q)},
                                   {"dk", getDk(), DimList().all("k", k)},
                                   {"dv", getDv(), DimList().all("v", v)}}) // attention_grad_c1
    if (failed(dims.check(*this, name, tensorType(value))) ||
        failed(checkSameElement(*this, name, value.getType(), "q", q)))
      return failure();
  if (Value dbias = getDbias()) { // attention_grad_c3
    if (!getBias())
      return emitOpError() << "has 'dbias', but no 'bias'";
    if (failed(DimList()
                   .all("bias", tensorType(getBias()))
                   .check(*this, "dbias", tensorType(dbias))) ||
        failed(checkF32(*this, "dbias", dbias.getType())))
      return failure();
  }
  if (Value dlse = getDlse()) { // attention_grad_c2
    RankedTensorType lse = tensorType(getLse());
    if (failed(DimList().all("lse", lse).check(*this, "dlse", tensorType(dlse))))
      return failure();
    return checkF32(*this, "dlse", dlse.getType());
  }
  return success();
}

// Returns the name of an operand of an op whose operands in its definition are `names`.
template <typename OpTy, size_t count>
static StringRef nameIn(OpTy op, const StringLiteral (&names)[count], unsigned operand) {
  static_assert(std::tuple_size_v<decltype(OpTy::Properties::operandSegmentSizes)> == count,
                "every operand of the definition has a name");
  for (auto [group, name] : llvm::enumerate(names)) {
    auto [first, size] = op.getODSOperandIndexAndLength(static_cast<unsigned>(group));
    if (operand >= first && operand < first + size)
      return name;
  }
  llvm_unreachable("the op has fewer operands");
}

StringRef AttentionOp::getOperandName(unsigned operand) {
  static constexpr StringLiteral names[] = {
      "q", "k", "v", "sinks", "lengths", "bias", "slopes", "documents", "starts", "seed", "step"};
  return nameIn(*this, names, operand);
}

StringRef AttentionGradOp::getOperandName(unsigned operand) {
  static constexpr StringLiteral names[] = {"q",         "k",      "v",       "out",  "lse",
                                            "dout",      "dlse",   "lengths", "bias", "slopes",
                                            "documents", "starts", "seed",    "step"};
  return nameIn(*this, names, operand);
}
