// Checks and folds of the ops that move elements, and of reductions.
#include "dialects/graph/ShapeOps.h"
#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Checks x[...] -> x without `dims`. A sum or mean of a narrower type may be in f32.
LogicalResult ReduceOp::verify() {
  RankedTensorType x = tensorType(getX());
  if (failed(checkDimSet(*this, "dims", getDims(), x.getRank()))) // reduce_c1
    return failure();
  DimList wanted;
  for (int64_t dim = 0; dim < x.getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      wanted.dims("x", x, dim, dim + 1);
  if (failed(wanted.check(*this, "result", getType())) ||    // reduce_c2
      failed(checkProductElement(*this, getType(), "x", x))) // reduce_c3
    return failure();
  if (getKind() != ReduceKind::Sum && !getScale().isExactlyValue(1.0)) // reduce_c4
    return emitOpError() << "has scale " << numberText(getScale().convertToDouble())
                         << ", but only a sum is scaled";
  return checkWindows(*this, getWindows()); // reduce_c5
}

// Checks that x lacks `dims`, which are new, or has them with size 1 and they grow (`keeps`): then
// x has as many dims as the result.
LogicalResult BroadcastOp::verify() {
  RankedTensorType x = tensorType(getX()), result = getType();
  if (failed(checkDimSet(*this, "dims", getDims(), result.getRank()))) // broadcast_c1
    return failure();
  int64_t added = getDims().size();
  bool keeps = x.getRank() == result.getRank() && added > 0;
  if (!keeps && x.getRank() + added != result.getRank()) // broadcast_c2
    return emitOpError() << "adds " << added << " dims to " << x.getRank()
                         << ", but the result has " << result.getRank();
  DimList wanted;
  int64_t next = 0;
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    bool isNew = llvm::is_contained(getDims(), dim);
    if (isNew && keeps && x.getDimSize(next) != 1) // broadcast_c3
      return emitOpError() << "dim " << next << " of 'x' is " << sizeText(x.getDimSize(next))
                           << ", but only a dim of size 1 repeats";
    if (isNew)
      wanted.size(result.getDimSize(dim), "the new dim");
    else
      wanted.dims("x", x, next, next + 1);
    if (!isNew || keeps)
      ++next;
    if (isNew && result.isDynamicDim(dim) && (dim != 0 || !getLike())) // broadcast_c4
      return emitOpError() << "dim " << dim
                           << " of 'result' is new and dynamic; only dim 0 may be, "
                           << "with 'like' giving its size";
  }
  if (failed(wanted.check(*this, "result", result)) || // broadcast_c5
      failed(checkSameElement(*this, "result", result, "x", x)))
    return failure();
  if (!getLike())
    return success();
  RankedTensorType like = tensorType(getLike());
  if (failed(checkAtLeastDims(*this, "like", like, 1)) ||
      failed(checkAtLeastDims(*this, "result", result, 1)))
    return failure();
  if (like.getDimSize(0) != result.getDimSize(0)) // broadcast_c6
    return emitOpError() << "dim 0 of 'like' is " << sizeText(like.getDimSize(0))
                         << ", but dim 0 of 'result' is " << sizeText(result.getDimSize(0));
  return success();
}

// Folds constants, whose elements are all equal; a dynamic batch has no constant yet.
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getDims().empty())
    return getX();
  if (getType().hasStaticShape())
    return dyn_cast_or_null<FloatAttr>(adaptor.getX());
  return {};
}

// Compares the numbers of elements even with an unbound batch: it factors out.
LogicalResult ReshapeOp::verify() {
  RankedTensorType x = tensorType(getX());
  if (failed(checkSameElement(*this, "result", getType(), "x", x))) // reshape_c1
    return failure();
  if (failed(factorReshape(x.getShape(), getType().getShape()))) // reshape_c2
    return emitOpError() << "makes " << x << " into " << getType()
                         << ", which cannot hold the same elements";
  return success();
}

static bool hasWholeLoop(const ReshapeLoops &loops) {
  return llvm::any_of(loops.loops, [](const Loop &loop) { return loop.isWhole(); });
}

// A constant of one value has it in any shape.
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX()))
    return value;
  auto inner = getX().getDefiningOp<ReshapeOp>();
  if (!inner || inner == *this)
    return {};
  // Merges two reshapes, unless the batch would have to be factored anew, or loops that both have
  // would be lost: from 2B x 3 through B x 6 to 3B x 2 samples can be split, directly they cannot.
  ArrayRef<int64_t> from = tensorType(inner.getX()).getShape(),
                    between = tensorType(inner).getShape(), to = getType().getShape();
  FailureOr<ReshapeLoops> direct = factorReshape(from, to);
  if (failed(direct) || (hasWholeLoop(*direct) && !hasWholeLoop(*factorReshape(from, between)) &&
                         !hasWholeLoop(*factorReshape(between, to))))
    return {};
  getXMutable().assign(inner.getX());
  return getResult();
}

// Dim i of the result is dim permutation[i] of x.
LogicalResult TransposeOp::verify() {
  RankedTensorType x = tensorType(getX());
  ArrayRef<int64_t> permutation = getPermutation();
  if (static_cast<int64_t>(permutation.size()) != x.getRank()) // transpose_c1
    return emitOpError() << "permutes " << permutation.size() << " dims, but 'x' has "
                         << x.getRank();
  SmallVector<bool> seen(x.getRank(), false);
  DimList wanted;
  for (const auto &[i, dim] : llvm::enumerate(permutation)) {
    if (dim < 0 || dim >= x.getRank() || seen[dim]) // transpose_c2
      return emitOpError() << "entry " << i << " of 'permutation' is " << dim
                           << ", but every dim from 0 to " << x.getRank() - 1 << " is wanted once";
    seen[dim] = true;
    wanted.dims("x", x, dim, dim + 1);
  }
  if (failed(wanted.check(*this, "result", getType()))) // transpose_c3
    return failure();
  return checkSameElement(*this, "result", getType(), "x", x); // transpose_c4
}

// Merges transposes: y = x by p by q is x by p[q[i]].
OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  bool isIdentity = llvm::all_of(llvm::enumerate(permutation), [](auto entry) {
    return static_cast<int64_t>(entry.index()) == entry.value();
  });
  if (isIdentity)
    return getX();
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX()))
    return value;
  auto inner = getX().getDefiningOp<TransposeOp>();
  if (!inner || inner == *this)
    return {};
  SmallVector<int64_t> combined;
  for (int64_t dim : permutation)
    combined.push_back(inner.getPermutation()[dim]);
  getXMutable().assign(inner.getX());
  setPermutation(combined);
  return getResult();
}

// Checks elements start..start + size - 1 of `dim`; `squeeze` drops the dim of a slice of one.
LogicalResult SliceOp::verify() {
  RankedTensorType x = tensorType(getX());
  int64_t dim = getDim(), start = getStart(), size = getSize();
  if (failed(checkOneDim(*this, "x", x, dim))) // slice_c1
    return failure();
  if (start < 0 || size < 1 || size > x.getDimSize(dim) ||
      start > x.getDimSize(dim) - size) // slice_c2
    return emitOpError() << "takes " << size << " from " << start << " on, but dim " << dim
                         << " of 'x' is " << x.getDimSize(dim);
  if (getSqueeze() && size != 1) // slice_c3
    return emitOpError() << "drops dim " << dim << " of size " << size
                         << ", but only size 1 can be dropped";
  DimList wanted;
  wanted.dims("x", x, 0, dim);
  if (!getSqueeze())
    wanted.size(size, "the size of the slice");
  wanted.dims("x", x, dim + 1, x.getRank());
  if (failed(wanted.check(*this, "result", getType()))) // slice_c4
    return failure();
  return checkSameElement(*this, "result", getType(), "x", x); // slice_c5
}

// Folds the slices by which differentiation separates joined tensors (q, k and v of one matrix
// product): the slice is then the input itself, and the concat is erased if nothing else reads it.
OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType() && !getSqueeze())
    return getX();
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX()))
    return value;
  // Matches the entry of a stack, or of a concat at exactly one input's place.
  auto concat = getX().getDefiningOp<ConcatOp>();
  if (!concat || concat.getDim() != getDim() || concat.getStack() != getSqueeze())
    return {};
  int64_t start = 0, dim = getDim();
  for (Value input : concat.getInputs()) {
    int64_t size = concat.getStack() ? 1 : tensorType(input).getDimSize(dim);
    if (start == static_cast<int64_t>(getStart()) && size == static_cast<int64_t>(getSize()))
      return input;
    start += size;
  }
  return {};
}

LogicalResult CumsumOp::verify() {
  return checkOneDim(*this, "x", tensorType(getX()), getDim()); // cumsum_c1
}

// Checks `low` zeros before and `high` zeros after the elements of `dim`.
LogicalResult PadOp::verify() {
  RankedTensorType x = tensorType(getX());
  int64_t dim = getDim(), low = getLow(), high = getHigh();
  if (failed(checkOneDim(*this, "x", x, dim))) // pad_c1
    return failure();
  int64_t size = x.getDimSize(dim);
  if (low < 0 || high < 0 || __builtin_add_overflow(size, low, &size) ||
      __builtin_add_overflow(size, high, &size)) // pad_c2
    return emitOpError() << "adds " << low << " and " << high
                         << " elements, but 0 or more are wanted";
  if (failed(DimList() // pad_c3
                 .dims("x", x, 0, dim)
                 .size(size, "the padded size")
                 .dims("x", x, dim + 1, x.getRank())
                 .check(*this, "result", getType())))
    return failure();
  return checkSameElement(*this, "result", getType(), "x", x); // pad_c4
}

// Zeros around zeros are zeros.
OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  if (getLow() == 0 && getHigh() == 0)
    return getX();
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX());
      value && value.getValue().isPosZero())
    return value;
  return {};
}

// Checks inputs one after the other along `dim`, or with `stack` as the entries of a new dim.
LogicalResult ConcatOp::verify() {
  if (getInputs().empty()) // concat_c1
    return emitOpError() << "joins nothing, but at least one input is wanted";
  RankedTensorType result = getType(), first = tensorType(getInputs()[0]);
  int64_t dim = getDim();
  if (failed(checkOneDim(*this, "result", result, dim)) || // concat_c2
      failed(checkNumDims(*this, "result", result,
                          first.getRank() + (getStack() ? 1 : 0)))) // concat_c3
    return failure();
  int64_t total = 0;
  for (const auto &[i, input] : llvm::enumerate(getInputs())) {
    RankedTensorType type = tensorType(input);
    std::string name = "inputs[" + std::to_string(i) + "]";
    DimList wanted;
    wanted.dims("result", result, 0, dim);
    if (!getStack()) {
      if (failed(checkOneDim(*this, name, type, dim)))
        return failure();
      wanted.size(type.getDimSize(dim), "its own size");
    }
    wanted.dims("result", result, dim + 1, result.getRank());
    if (failed(wanted.check(*this, name, type)) || // concat_c4
        failed(checkSameElement(*this, name, type, "result", result)))
      return failure();
    if (__builtin_add_overflow(total, getStack() ? 1 : type.getDimSize(dim), &total)) // concat_c5
      return emitOpError() << "joins more elements along dim " << dim << " than 64 bits count";
  }
  if (total != result.getDimSize(dim)) // concat_c5
    return emitOpError() << "dim " << dim << " of 'result' is " << result.getDimSize(dim)
                         << ", but the inputs together have " << total;
  return success();
}

// Checks the entries of `dim`, each without it.
LogicalResult UnstackOp::verify() {
  RankedTensorType x = tensorType(getX());
  int64_t dim = getDim();
  if (failed(checkOneDim(*this, "x", x, dim))) // unstack_c1
    return failure();
  if (static_cast<int64_t>(getNumResults()) != x.getDimSize(dim)) // unstack_c2
    return emitOpError() << "has " << getNumResults() << " results, but dim " << dim
                         << " of 'x' has " << x.getDimSize(dim) << " elements";
  for (Value element : getElements())
    if (failed(DimList() // unstack_c3
                   .dims("x", x, 0, dim)
                   .dims("x", x, dim + 1, x.getRank())
                   .check(*this, "result", tensorType(element))) ||
        failed(checkSameElement(*this, "result", element.getType(), "x", x)))
      return failure();
  return success();
}

// Parses %x dim 2 : type of x -> type of each result; there are as many results as the dim has
// elements.
ParseResult UnstackOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand x;
  int64_t dim = 0;
  RankedTensorType type, element;
  SMLoc typeLoc;
  if (parser.parseOperand(x) || parser.parseKeyword("dim") || parser.parseInteger(dim) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      failed(parser.getCurrentLocation(&typeLoc)) || parser.parseType(type) ||
      parser.parseArrow() || parser.parseType(element) ||
      parser.resolveOperand(x, type, result.operands))
    return failure();
  result.addAttribute(getDimAttrName(result.name), parser.getBuilder().getI64IntegerAttr(dim));
  if (dim < 0 || dim >= type.getRank() || type.isDynamicDim(dim)) // unstack_c1
    return parser.emitError(typeLoc)
           << "dim " << dim << " of " << type << " has no number of elements, one for each result";
  result.addTypes(SmallVector<Type>(type.getDimSize(dim), element));
  return success();
}

void UnstackOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getX() << " dim " << getDim();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimAttrName()});
  printer << " : " << getX().getType() << " -> " << getElements().front().getType();
}

#define GET_OP_CLASSES
#include "dialects/graph/ShapeOps.cpp.inc"
