// Attention of a rank that has part of the queries.
#include "passes/shard/SplitAttention.h"

#include "dialects/graph/ContextOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"

#include <limits>

using namespace mlir;

namespace dtc {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Beyond this difference of two lse the smaller part is nothing in f32; lse of no keys is -inf.
constexpr double kMostDifference = 100;

} // namespace

// The number of keys in front of the rank's queries, for each sample.
Value SplitAttention::lengthsOf(Value q) const {
  RankedTensorType type = typeOf(q);
  int64_t samples = type.getDimSize(0), size = type.getDimSize(1);
  Type i32 = builder.getI32Type();
  constexpr unsigned kChunkLoop = 1;
  ArrayAttr windows =
      builder.getArrayAttr(graph::getWindow(builder.getContext(), kChunkLoop, split, split.parts));
  Value starts =
      graph::ChunkStartsOp::create(builder, loc, RankedTensorType::get({samples, 1}, i32),
                                   builder.getI64IntegerAttr(size), windows);
  return graph::ReshapeOp::create(builder, loc, RankedTensorType::get({samples}, i32), starts);
}

Value SplitAttention::inF32(Value x) const {
  RankedTensorType type = typeOf(x);
  if (type.getElementType().isF32())
    return x;
  return graph::CastOp::create(builder, loc, type.clone(builder.getF32Type()), x);
}

SplitAttention::Result SplitAttention::forward(graph::AttentionOp op, Value q, Value sinks,
                                               const Keys &keys) const {
  RankedTensorType rows = typeOf(q);
  SmallVector<int64_t> shape(rows.getShape());
  RankedTensorType lseType =
      RankedTensorType::get({shape[0], shape[2], shape[1]}, builder.getF32Type());
  shape[3] = typeOf(op.getResult()).getDimSize(3);
  RankedTensorType outType = rows.clone(shape);
  auto attend = [&](Value k, Value v, Value ofSinks, Value lengths, UnitAttr causal) {
    return graph::AttentionOp::create(
        builder, loc, outType, lseType, q, k, v, ofSinks, lengths, Value(), Value(), Value(),
        Value(), Value(), causal, IntegerAttr(), IntegerAttr(), op.getSoftCapAttr(),
        op.getScaleAttr(), op.getDropoutAttr(), IntegerAttr(), ArrayAttr());
  };
  auto before = attend(keys.all, keys.allValues, Value(), lengthsOf(q), UnitAttr());
  auto own = attend(keys.own, keys.ownValues, sinks, Value(), builder.getUnitAttr());
  auto point = [&](graph::PointFunction function, Value x, ArrayRef<double> parameters = {}) {
    return graph::PointOp::create(builder, loc, typeOf(x), x, function, parameters);
  };
  Value over =
      graph::SubtractOp::create(builder, loc, lseType, own.getLse(), before.getLse()).getResult();
  over = point(graph::PointFunction::Clamp, over,
               {-std::numeric_limits<double>::infinity(), kMostDifference});
  Value lse = graph::SubtractOp::create(builder, loc, lseType, own.getLse(),
                                        point(graph::PointFunction::LogSigmoid, over));
  SmallVector<int64_t> ofRows{shape[0], shape[1], shape[2]};
  Value share = graph::TransposeOp::create(
      builder, loc, RankedTensorType::get(ofRows, builder.getF32Type()),
      point(graph::PointFunction::Sigmoid, over), builder.getDenseI64ArrayAttr({0, 2, 1}));
  ofRows.push_back(1);
  share = graph::ReshapeOp::create(builder, loc,
                                   RankedTensorType::get(ofRows, builder.getF32Type()), share);
  Value first = inF32(before.getResult());
  RankedTensorType wide = typeOf(first);
  Value more = graph::SubtractOp::create(builder, loc, wide, inF32(own.getResult()), first);
  Value out = graph::AddOp::create(builder, loc, wide, first,
                                   graph::MultiplyOp::create(builder, loc, wide, more, share));
  if (wide != outType)
    out = graph::CastOp::create(builder, loc, outType, out);
  return {out, lse};
}

SplitAttention::Gradients SplitAttention::backward(graph::AttentionGradOp op, const Saved &saved,
                                                   const Keys &keys) const {
  auto attend = [&](Value k, Value v, Value lengths, UnitAttr causal) {
    return graph::AttentionGradOp::create(
        builder, loc, saved.q.getType(), k.getType(), v.getType(), Type(), saved.q, k, v, saved.out,
        saved.lse, saved.dout, saved.dlse, lengths, Value(), Value(), Value(), Value(), Value(),
        causal, IntegerAttr(), IntegerAttr(), op.getSoftCapAttr(), op.getScaleAttr(),
        op.getDropoutAttr(), op.getIdAttr(), ArrayAttr());
  };
  auto before = attend(keys.all, keys.allValues, lengthsOf(saved.q), UnitAttr());
  auto own = attend(keys.own, keys.ownValues, Value(), builder.getUnitAttr());
  Value dq =
      graph::AddOp::create(builder, loc, typeOf(saved.q), before.getDq(), own.getDq()).getResult();
  return {dq, before, own};
}

} // namespace dtc
