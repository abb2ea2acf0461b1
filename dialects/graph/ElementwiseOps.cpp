// Checks and folds of the point-by-point ops.
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/GradientOps.h"
#include "dialects/graph/Verify.h"

using namespace mlir;
using namespace dtc::graph;

// Checks that operands broadcast to the result and that element types agree. Broadcasts as NumPy:
// dims are aligned at the end, and one of size 1 repeats. Operands of different types must be
// converted by an explicit graph.cast.
static LogicalResult verifyBroadcast(Operation *op) {
  FailureOr<SmallVector<int64_t>> shape = broadcastShapes(op); // binary_c1
  if (failed(shape))
    return failure();
  RankedTensorType result = tensorType(op->getResult(0));
  DimList wanted;
  for (const auto &[dim, size] : llvm::enumerate(*shape))
    wanted.size(size, "dim " + Twine(dim) + " of the operands together");
  if (failed(wanted.check(op, "result", result))) // binary_c2
    return failure();
  for (const auto &[i, operand] : llvm::enumerate(op->getOperands()))
    if (getElementTypeOrSelf(operand) != result.getElementType()) // binary_c3
      return op->emitOpError() << "operand " << i << " has element type "
                               << getElementTypeOrSelf(operand) << ", but the result has "
                               << result.getElementType();
  return success();
}

LogicalResult AddOp::verify() { return verifyBroadcast(*this); }
LogicalResult SubtractOp::verify() { return verifyBroadcast(*this); }
LogicalResult MultiplyOp::verify() { return verifyBroadcast(*this); }
LogicalResult DivideOp::verify() { return verifyBroadcast(*this); }
LogicalResult MinimumOp::verify() { return verifyBroadcast(*this); }
LogicalResult MaximumOp::verify() { return verifyBroadcast(*this); }
LogicalResult SelectEqualOp::verify() { return verifyBroadcast(*this); }

// Allows any shape, since all elements are one number; dtc-bind-batch gives dim 0 its size.
LogicalResult ConstantOp::verify() {
  for (int64_t dim = 1; dim < getType().getRank(); ++dim)
    if (getType().isDynamicDim(dim)) // constant_c1
      return emitOpError() << "has dynamic dim " << dim
                           << ", but only dim 0, the batch, may be dynamic";
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

// Folds two constants; a `neutral` right side leaves the left side.
static OpFoldResult foldBinary(Operation *op, Attribute lhs, Attribute rhs,
                               std::optional<double> neutral,
                               function_ref<double(double, double)> combine) {
  auto right = dyn_cast_or_null<FloatAttr>(rhs);
  if (!right)
    return {};
  bool keepsType = op->getOperand(0).getType() == op->getResult(0).getType();
  if (neutral && keepsType && right.getValueAsDouble() == *neutral)
    return op->getOperand(0);
  auto left = dyn_cast_or_null<FloatAttr>(lhs);
  if (!left)
    return {};
  double value = combine(left.getValueAsDouble(), right.getValueAsDouble());
  return Builder(op).getF64FloatAttr(value);
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs(), 0.0, std::plus<double>());
}
OpFoldResult SubtractOp::fold(FoldAdaptor adaptor) {
  return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs(), 0.0, std::minus<double>());
}
OpFoldResult MultiplyOp::fold(FoldAdaptor adaptor) {
  return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs(), 1.0, std::multiplies<double>());
}
OpFoldResult DivideOp::fold(FoldAdaptor adaptor) {
  return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs(), 1.0, std::divides<double>());
}
// NaN wins, as in the kernels (arith.minimumf).
OpFoldResult MinimumOp::fold(FoldAdaptor adaptor) {
  return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs(), std::nullopt,
                    [](double a, double b) { return std::isnan(a) || a < b ? a : b; });
}
OpFoldResult MaximumOp::fold(FoldAdaptor adaptor) {
  return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs(), std::nullopt,
                    [](double a, double b) { return std::isnan(a) || a > b ? a : b; });
}

// -(-x) is x.
OpFoldResult NegateOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getX().getDefiningOp<NegateOp>())
    return inner.getX();
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX()))
    return Builder(*this).getF64FloatAttr(-value.getValueAsDouble());
  return {};
}

// Folds x * 1 to x, scales constants and merges two scales. Shares stay as they are.
OpFoldResult ScaleOp::fold(FoldAdaptor adaptor) {
  if (getShareAxes())
    return {};
  if (getFactor().isExactlyValue(1.0))
    return getX();
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX()))
    return Builder(*this).getF64FloatAttr(value.getValueAsDouble() * getFactor().convertToDouble());
  auto inner = getX().getDefiningOp<ScaleOp>();
  if (!inner || inner == *this || inner.getShareAxes())
    return {};
  double factor = inner.getFactor().convertToDouble() * getFactor().convertToDouble();
  getXMutable().assign(inner.getX());
  setFactor(APFloat(factor));
  return getResult();
}

// Removes casts to the same type and casts that widen and narrow back; rounds constants here, so
// that a step has the same ops in all types.
OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  auto value = dyn_cast_or_null<FloatAttr>(adaptor.getX());
  auto rounded = dyn_cast<FloatType>(getElementTypeOrSelf(getType()));
  if (value && rounded) {
    APFloat number(value.getValueAsDouble());
    bool losesInfo;
    number.convert(rounded.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return Builder(*this).getF64FloatAttr(number.convertToDouble());
  }
  auto inner = getX().getDefiningOp<CastOp>();
  if (!inner || inner.getX().getType() != getType())
    return {};
  Type narrow = getElementTypeOrSelf(getType()), wide = getElementTypeOrSelf(getX());
  bool isExact = (narrow.isBF16() || narrow.isF16()) && wide.isF32();
  return isExact ? OpFoldResult(inner.getX()) : OpFoldResult();
}

#define GET_OP_CLASSES
#include "dialects/graph/ElementwiseOps.cpp.inc"
