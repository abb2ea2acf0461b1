// Gather, scatter_add and top_k: checks, rules and gradients.
#include "dialects/graph/GatherOps.h"
#include "dialects/graph/ElementwiseOps.h"

#include "dialects/graph/RuleBuilder.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

#define GET_OP_CLASSES
#include "dialects/graph/GatherOps.cpp.inc"

// Checks the dims of an index of `of`, whose size along `dim` is free if `size` is null.
static LogicalResult verifyIndex(Operation *op, StringRef ofName, RankedTensorType of, Value index,
                                 int64_t dim, std::optional<int64_t> size) {
  RankedTensorType type = tensorType(index);
  if (isa<FloatType>(type.getElementType()) &&
      failed(checkF32(op, "index", type))) // gather_c5, scatter_add_c5
    return failure();
  bool isShared = type.getRank() == 1 && of.getRank() != 1;
  int64_t at = isShared ? 0 : dim;
  if (!isShared && type.getRank() != of.getRank()) // gather_c2, scatter_add_c2
    return op->emitOpError() << "'index' has " << type.getRank() << " dims, but '" << ofName
                             << "' has " << of.getRank() << "; 1 dim would hold for all others";
  if (type.isDynamicDim(at)) // gather_c2, scatter_add_c2
    return op->emitOpError() << "works on dim " << at << " of 'index', which is dynamic";
  DimList wanted;
  int64_t along = size.value_or(type.getDimSize(at));
  if (!isShared)
    wanted.dims(ofName, of, 0, dim);
  wanted.size(along, "dim " + Twine(dim) + " of '" + ofName + "'");
  if (!isShared)
    wanted.dims(ofName, of, dim + 1, of.getRank());
  return wanted.check(op, "index", type);
}

// Checks that `type` has the dims of `of`, with `size` elements along `dim`.
static LogicalResult verifyAlong(Operation *op, StringRef name, RankedTensorType type,
                                 StringRef ofName, RankedTensorType of, int64_t dim, int64_t size,
                                 const Twine &origin) {
  return DimList()
      .dims(ofName, of, 0, dim)
      .size(size, origin)
      .dims(ofName, of, dim + 1, of.getRank())
      .check(op, name, type);
}

static int64_t sizeOfIndex(Value index, int64_t dim) {
  RankedTensorType type = tensorType(index);
  return type.getDimSize(type.getRank() == 1 ? 0 : dim);
}

LogicalResult GatherOp::verify() {
  RankedTensorType x = tensorType(getX());
  int64_t dim = static_cast<int64_t>(getDim());
  if (failed(checkOneDim(*this, "x", x, dim))) // gather_c1
    return failure();
  if (failed(verifyIndex(*this, "x", x, getIndex(), dim, std::nullopt)))
    return failure();
  if (failed(verifyAlong(*this, "result", getType(), "x", x, dim, sizeOfIndex(getIndex(), dim),
                         "the number of indices"))) // gather_c3
    return failure();
  return checkSameElement(*this, "result", getType(), "x", x); // gather_c4
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType u = tensorType(getU());
  int64_t dim = static_cast<int64_t>(getDim());
  if (failed(checkOneDim(*this, "u", u, dim))) // scatter_add_c1
    return failure();
  if (failed(verifyIndex(*this, "u", u, getIndex(), dim, u.getDimSize(dim))))
    return failure();
  if (failed(checkNumDims(*this, "result", getType(), u.getRank())) ||
      failed(checkOneDim(*this, "result", getType(), dim)) ||
      failed(verifyAlong(*this, "result", getType(), "u", u, dim, getType().getDimSize(dim),
                         "dim " + Twine(dim) + " of the result"))) // scatter_add_c3
    return failure();
  return checkF32(*this, "result", getType()); // scatter_add_c4
}

LogicalResult TopKOp::verify() {
  RankedTensorType x = tensorType(getX()), values = tensorType(getValues());
  int64_t dim = static_cast<int64_t>(getDim());
  if (failed(checkOneDim(*this, "x", x, dim))) // top_k_c1
    return failure();
  if (failed(checkNumDims(*this, "values", values, x.getRank()))) // top_k_c2
    return failure();
  int64_t count = values.getDimSize(dim), size = x.getDimSize(dim);
  if (count < 1 || count > size) // top_k_c2
    return emitOpError() << "selects " << sizeText(count) << " of " << size << " elements of dim "
                         << dim << " of 'x'; select 1 to " << size;
  for (auto [name, result] : {std::pair<StringRef, Value>{"values", getValues()},
                              std::pair<StringRef, Value>{"indices", getIndices()}})
    if (failed(verifyAlong(*this, name, tensorType(result), "x", x, dim, count,
                           "dim " + Twine(dim) + " of 'values'"))) // top_k_c2
      return failure();
  if (failed(checkSameElement(*this, "values", values, "x", x)) ||  // top_k_c3
      failed(checkF32(*this, "indices", tensorType(getIndices())))) // top_k_c4
    return failure();
  constexpr int64_t mostIndices = 1 << 24;
  if (size > mostIndices) // top_k_c5
    return emitOpError() << "selects among " << size << " elements, whose indices f32 can't hold; "
                         << "at most " << mostIndices << " are";
  return success();
}

namespace {

// The loops of an op along one dim: `from` before it, `to` with another size of the dim. Both sizes
// are whole, because ranks would hold different parts of them.
struct AlongDim {
  TensorLoops from, to;

  AlongDim(RuleBuilder &builder, Value x, Value y, int64_t dim) {
    RankedTensorType type = tensorType(x);
    for (int64_t i = 0; i < type.getRank(); ++i)
      from.push_back(
          builder.loop(type.getDimSize(i), i == dim ? LoopKind::Whole : LoopKind::Parallel));
    to = from;
    to[dim] = builder.loop(tensorType(y).getDimSize(dim), LoopKind::Whole);
  }
};

} // namespace

// Returns the rule of an op that moves the elements of `x` to `y` by an index of the one or the
// other, and is linear in the elements.
static OpRule movingRule(Value x, Value index, Value y, bool isIndexOfResult, int64_t dim) {
  RuleBuilder builder;
  AlongDim loops(builder, x, y, dim);
  const TensorLoops &like = isIndexOfResult ? loops.to : loops.from;
  bool isShared = tensorType(index).getRank() != static_cast<int64_t>(like.size());
  builder.operand(loops.from).operand(isShared ? TensorLoops{like[dim]} : like).result(loops.to);
  return builder.flops(0).zeroPreserving().linearBut(1).take();
}

// y[kept, i] = x[kept, index[kept, i]].
OpRule GatherOp::getRule() {
  return movingRule(getX(), getIndex(), getResult(), /*isIndexOfResult=*/true, getDim());
}

// y[kept, j] = sum of u[kept, i] with index[kept, i] = j.
OpRule ScatterAddOp::getRule() {
  return movingRule(getU(), getIndex(), getResult(), /*isIndexOfResult=*/false, getDim());
}

// Each selected element is found by a pass over all elements of the dim.
OpRule TopKOp::getRule() {
  RuleBuilder builder;
  AlongDim loops(builder, getX(), getValues(), getDim());
  builder.operand(loops.from).result(loops.to).result(loops.to);
  return builder.flops(1).take();
}

int64_t GatherOp::getIndexLimit(unsigned operand) {
  return operand == 1 ? tensorType(getX()).getDimSize(getDim()) : 0;
}
int64_t ScatterAddOp::getIndexLimit(unsigned operand) {
  return operand == 1 ? getType().getDimSize(getDim()) : 0;
}

// Adds up `dy` at the indices that an element was read by, in the type of the operand.
static Value scattered(OpBuilder &builder, Location loc, Value dy, Value index, int64_t dim,
                       RankedTensorType type) {
  Value sums = ScatterAddOp::create(builder, loc, type.clone(builder.getF32Type()), dy, index, dim);
  return type.getElementType().isF32() ? sums
                                       : CastOp::create(builder, loc, type, sums).getResult();
}

LogicalResult GatherOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                      ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (needed[0])
    grads[0] =
        scattered(builder, getLoc(), resultGrads[0], getIndex(), getDim(), tensorType(getX()));
  return success();
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                          ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(2, Value());
  if (!needed[0])
    return success();
  RankedTensorType type = tensorType(getU());
  Value dy = GatherOp::create(builder, getLoc(), type.clone(builder.getF32Type()), resultGrads[0],
                              getIndex(), getDim());
  grads[0] =
      type.getElementType().isF32() ? dy : CastOp::create(builder, getLoc(), type, dy).getResult();
  return success();
}

LogicalResult TopKOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed, SmallVectorImpl<Value> &grads) {
  grads.assign(1, Value());
  if (needed[0] && resultGrads[0])
    grads[0] =
        scattered(builder, getLoc(), resultGrads[0], getIndices(), getDim(), tensorType(getX()));
  return success();
}
