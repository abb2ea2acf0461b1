// Builds small ops, of which models make what no larger op is.
#include "models/ModelBuilder.h"

#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/NnOps.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"

#include <algorithm>

using namespace mlir;

namespace dtc {

RankedTensorType ModelBuilder::broadcastType(Value a, Value b) const {
  ArrayRef<int64_t> longer = typeOf(a).getShape(), shorter = typeOf(b).getShape();
  if (longer.size() < shorter.size())
    std::swap(longer, shorter);
  SmallVector<int64_t> shape(longer);
  for (size_t i = 0; i < shorter.size(); ++i)
    if (int64_t &size = shape[longer.size() - shorter.size() + i]; size == 1)
      size = shorter[i];
  return RankedTensorType::get(shape, typeOf(a).getElementType());
}

Value ModelBuilder::subtract(Value a, Value b) {
  return graph::SubtractOp::create(builder, next(), broadcastType(a, b), a, b);
}

Value ModelBuilder::divide(Value a, Value b) {
  return graph::DivideOp::create(builder, next(), broadcastType(a, b), a, b);
}

Value ModelBuilder::compare(graph::CompareKind kind, Value a, Value b) {
  return graph::CompareOp::create(builder, next(), broadcastType(a, b), a, b, kind);
}

Value ModelBuilder::where(Value mask, Value a, Value b) {
  auto type = RankedTensorType::get(broadcastType(mask, a).getShape(), typeOf(a).getElementType());
  return graph::WhereOp::create(builder, next(), type, mask, a, b);
}

Value ModelBuilder::point(graph::PointFunction function, Value x, ArrayRef<double> parameters) {
  return graph::PointOp::create(builder, next(), x.getType(), x, function,
                                builder.getDenseF64ArrayAttr(parameters));
}

Value ModelBuilder::castTo(Value x, bool isInteger) {
  Type element = isInteger ? Type(builder.getI32Type()) : Type(builder.getF32Type());
  return graph::CastOp::create(builder, next(), typeOf(x).clone(element), x);
}

Value ModelBuilder::iota(int64_t size) {
  return graph::IotaOp::create(builder, next(), tensor({size}), ArrayAttr());
}

Value ModelBuilder::cumsum(Value x, int64_t dim) {
  return graph::CumsumOp::create(builder, next(), x.getType(), x, dim, /*reverse=*/false);
}

Value ModelBuilder::reduce(graph::ReduceKind kind, Value x, int64_t dim, double scale) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape.erase(shape.begin() + dim);
  return graph::ReduceOp::create(builder, next(), tensor(shape), x, kind, ArrayRef<int64_t>{dim},
                                 llvm::APFloat(scale), ArrayAttr());
}

Value ModelBuilder::pad(Value x, int64_t dim, int64_t low, int64_t high) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape[dim] += low + high;
  return graph::PadOp::create(builder, next(), tensor(shape), x, dim, low, high);
}

Value ModelBuilder::softmax(Value x) {
  return graph::SoftmaxOp::create(builder, next(), x.getType(), x);
}

Value ModelBuilder::matmul(Value a, Value b, bool transposeB) {
  SmallVector<int64_t> shape(typeOf(a).getShape());
  ArrayRef<int64_t> other = typeOf(b).getShape();
  shape.back() = other[other.size() - (transposeB ? 2 : 1)];
  return graph::MatmulOp::create(builder, next(), tensor(shape), a, b, /*transpose_a=*/false,
                                 transposeB);
}

} // namespace dtc
