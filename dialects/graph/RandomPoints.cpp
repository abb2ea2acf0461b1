// Numbers the elements of tensors, which count random numbers.
#include "dialects/graph/RandomPoints.h"

using namespace mlir;

Value dtc::graph::globalElement(ImplicitLocOpBuilder &builder, ArrayRef<int64_t> shape,
                                ValueRange indices, Value firstSample) {
  Type i64 = builder.getI64Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  };
  Value element = number(0);
  for (const auto &[dim, index] : llvm::enumerate(indices)) {
    Value wide = arith::IndexCastOp::create(builder, i64, index);
    if (dim == 0 && firstSample) {
      Value first = arith::IndexCastOp::create(builder, i64, firstSample);
      wide = arith::AddIOp::create(builder, wide, first);
    }
    element = dim == 0
                  ? wide
                  : arith::AddIOp::create(
                        builder, arith::MulIOp::create(builder, element, number(shape[dim])), wide);
  }
  return element;
}
