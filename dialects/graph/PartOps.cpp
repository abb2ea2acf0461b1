// Checks the ops of sums in two steps.
#include "dialects/graph/PartOps.h"

#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

namespace {

LogicalResult checkStatic(Operation *op, StringRef name, RankedTensorType type) {
  if (type.hasStaticShape())
    return success();
  return op->emitOpError() << "'" << name << "' is " << type
                           << ", but sums in parts are of static shapes";
}

// Checks a list of sums, the result of chunk_squares.
LogicalResult checkChunkSums(Operation *op, StringRef name, RankedTensorType type) {
  if (failed(checkNumDims(op, name, type, 1)) || failed(checkStatic(op, name, type)) ||
      failed(checkF32(op, name, type)))
    return failure();
  if (type.getDimSize(0) % 4 == 0)
    return success();
  return op->emitOpError() << "'" << name << "' has " << type.getDimSize(0)
                           << " elements, but a multiple of 4 is wanted";
}

} // namespace

LogicalResult ChunkSquaresOp::verify() {
  if (getChunks().empty() || getChunks().size() != getTensors().size()) // chunk_squares_c1
    return emitOpError() << "has " << getTensors().size() << " tensors and chunks of "
                         << getChunks().size();
  int64_t sums = 0;
  for (int64_t count : getChunks()) {
    if (count < 1) // chunk_squares_c1
      return emitOpError() << "'chunks' has " << count << ", but 1 or more are wanted";
    sums += count;
  }
  RankedTensorType first = tensorType(getTensors().front());
  for (Value tensor : getTensors()) // chunk_squares_c2
    if (failed(checkSameElement(*this, "tensors", tensorType(tensor).getElementType(), "tensors",
                                first.getElementType())) ||
        failed(checkStatic(*this, "tensors", tensorType(tensor))))
      return failure();
  RankedTensorType result = tensorType(getResult());
  if (failed(checkChunkSums(*this, "result", result))) // chunk_squares_c3
    return failure();
  if (result.getDimSize(0) < sums) // chunk_squares_c3
    return emitOpError() << "'result' has " << result.getDimSize(0) << " elements for " << sums
                         << " chunks";
  return success();
}

LogicalResult SumChunksOp::verify() {
  if (getSums().empty()) // sum_chunks_c1
    return emitOpError() << "has no operands";
  for (Value sums : getSums())
    if (failed(checkChunkSums(*this, "sums", tensorType(sums)))) // sum_chunks_c1
      return failure();
  return success();
}

LogicalResult RowPartSumsOp::verify() {
  RankedTensorType x = tensorType(getX()), result = tensorType(getResult());
  if (failed(checkAtLeastDims(*this, "result", result, 2)) ||
      failed(checkAtLeastDims(*this, "x", x, result.getRank()))) // row_part_sums_c1
    return failure();
  int64_t rows = x.getRank() - result.getRank() + 1;
  DimList dims;
  dims.size(result.getDimSize(0), "the number of parts").dims("x", x, rows, x.getRank());
  if (failed(dims.check(*this, "result", result)) || // row_part_sums_c1
      failed(checkStatic(*this, "x", x)) ||          // row_part_sums_c2
      failed(checkF32(*this, "result", result)))     // row_part_sums_c3
    return failure();
  if (result.getDimSize(0) < 1) // row_part_sums_c2
    return emitOpError() << "'result' has no parts";
  return success();
}

LogicalResult NormParamGradPartsOp::verify() {
  RankedTensorType x = tensorType(getX());
  DimList same, rows;
  same.all("x", x);
  rows.dims("x", x, 0, x.getRank() - 1);
  if (failed(checkAtLeastDims(*this, "x", x, 1)) || failed(checkStatic(*this, "x", x)) ||
      failed(same.check(*this, "dy", tensorType(getDy()))) || // norm_param_grad_parts_c1
      failed(rows.check(*this, "rstd", tensorType(getRstd()))) ||
      failed(checkF32(*this, "rstd", tensorType(getRstd()))))
    return failure();
  if (getMean() && (failed(rows.check(*this, "mean", tensorType(getMean()))) ||
                    failed(checkF32(*this, "mean", tensorType(getMean())))))
    return failure();
  if (getParts().empty() || getParts().size() > 2) // norm_param_grad_parts_c2
    return emitOpError() << "has " << getParts().size() << " results, but one or two are wanted";
  int64_t parts = tensorType(getParts().front()).getDimSize(0);
  for (Value result : getParts()) {
    DimList dims;
    dims.size(parts, "the number of parts").dims("x", x, x.getRank() - 1, x.getRank());
    if (failed(dims.check(*this, "parts", tensorType(result))) || // norm_param_grad_parts_c2
        failed(checkStatic(*this, "parts", tensorType(result))) ||
        failed(checkF32(*this, "parts", tensorType(result))))
      return failure();
  }
  if (parts < 1) // norm_param_grad_parts_c2
    return emitOpError() << "'parts' has no parts";
  return success();
}

LogicalResult SumPartsOp::verify() {
  if (getParts().empty() || getParts().size() != getResults().size()) // sum_parts_c2
    return emitOpError() << "has " << getParts().size() << " operands and " << getResults().size()
                         << " results";
  RankedTensorType parts = tensorType(getParts().front());
  if (failed(checkAtLeastDims(*this, "parts", parts, 2)) || // sum_parts_c1
      failed(checkStatic(*this, "parts", parts)) || failed(checkF32(*this, "parts", parts)))
    return failure();
  for (auto [operand, result] : llvm::zip_equal(getParts(), getResults())) {
    if (operand.getType() != parts) // sum_parts_c1
      return emitOpError() << "adds up parts of " << operand.getType() << " and of " << parts
                           << ", but one type is wanted";
    DimList dims;
    dims.dims("parts", parts, 1, parts.getRank());
    if (failed(dims.check(*this, "results", tensorType(result)))) // sum_parts_c2
      return failure();
  }
  return success();
}

#define GET_OP_CLASSES
#include "dialects/graph/PartOps.cpp.inc"
