// Builds attention of described masks, and the lengths of samples that one of them is.
#include "models/ModelBuilder.h"

#include "dialects/graph/NnOps.h"

using namespace mlir;

namespace dtc {

Value ModelBuilder::attend(Value q, Value k, Value v, const AttentionSpec &spec) {
  SmallVector<int64_t> shape(typeOf(q).getShape());
  shape.back() = typeOf(v).getShape().back();
  return graph::AttentionOp::create(
             builder, next(), tensor(shape), Type(), q, k, v, Value(), spec.lengths, spec.bias,
             Value(), Value(), Value(), Value(), Value(),
             spec.causal ? builder.getUnitAttr() : UnitAttr(),
             spec.sliding > 0 ? builder.getI64IntegerAttr(spec.sliding) : IntegerAttr(),
             IntegerAttr(), FloatAttr(),
             spec.scale ? builder.getF64FloatAttr(*spec.scale) : FloatAttr(),
             builder.getF64FloatAttr(spec.dropout), IntegerAttr(), ArrayAttr())
      .getResult();
}

Value ModelBuilder::lengthsOf(Value mask) {
  std::string name = names.empty() ? "lengths" : names.front();
  Value positions = as("mask_places").iota(typeOf(mask).getDimSize(1));
  Value one = as("one").constant(1, {});
  Value ends = as("mask_ends").add(positions, one);
  Value nothing = as("no_end").constant(0, {});
  Value seen = as("seen_ends").where(mask, ends, nothing);
  Value last = as("last_end").reduce(graph::ReduceKind::Max, seen, 1);
  return as(name).castTo(last, /*isInteger=*/true);
}

} // namespace dtc
