// Attention over keys that come in parts, each of which is an attention of its own.
#include "passes/shard/AttentionParts.h"

#include "dialects/graph/ContextOps.h"
#include "dialects/graph/ElementwiseOps.h"
#include "dialects/graph/PointOps.h"
#include "dialects/graph/ShapeOps.h"

#include <limits>

using namespace mlir;

namespace dtc {
namespace {

RankedTensorType typeIn(Value value) { return cast<RankedTensorType>(value.getType()); }

// Beyond this difference of two lse the smaller part is nothing in f32; lse of no keys is -inf.
constexpr double kMostDifference = 100;

constexpr int64_t kRowTokens = 1; // of queries, keys, values and results
constexpr int64_t kLseTokens = 2; // of sums of exponentials

} // namespace

AttentionParts::Result AttentionParts::attend(graph::AttentionOp op, Value q, Value k, Value v,
                                              Value sinks, Value lengths, bool isCausal) const {
  SmallVector<int64_t> shape(typeIn(q).getShape());
  RankedTensorType lse =
      RankedTensorType::get({shape[0], shape[2], shape[1]}, builder.getF32Type());
  shape[3] = typeIn(v).getDimSize(3);
  auto attention = graph::AttentionOp::create(
      builder, loc, typeIn(q).clone(shape), lse, q, k, v, sinks, lengths, Value(), Value(), Value(),
      Value(), Value(), Value(), isCausal ? builder.getUnitAttr() : UnitAttr(), IntegerAttr(),
      IntegerAttr(), op.getSoftCapAttr(), op.getScaleAttr(), op.getDropoutAttr(), IntegerAttr(),
      ArrayAttr());
  return {attention.getResult(), attention.getLse()};
}

graph::AttentionGradOp AttentionParts::attendBack(graph::AttentionGradOp op, const Saved &saved,
                                                  Value k, Value v, Value lengths,
                                                  bool isCausal) const {
  return graph::AttentionGradOp::create(
      builder, loc, saved.q.getType(), k.getType(), v.getType(), Type(), saved.q, k, v, saved.out,
      saved.lse, saved.dout, saved.dlse, lengths, Value(), Value(), Value(), Value(), Value(),
      Value(), isCausal ? builder.getUnitAttr() : UnitAttr(), IntegerAttr(), IntegerAttr(),
      op.getSoftCapAttr(), op.getScaleAttr(), op.getDropoutAttr(), op.getIdAttr(), ArrayAttr());
}

AttentionParts::Result AttentionParts::attendAt(graph::AttentionOp op, Value q, Value k, Value v,
                                                Value sinks, const Scores &scores,
                                                Value starts) const {
  SmallVector<int64_t> shape(typeIn(q).getShape());
  RankedTensorType lse =
      RankedTensorType::get({shape[0], shape[2], shape[1]}, builder.getF32Type());
  shape[3] = typeIn(v).getDimSize(3);
  auto attention = graph::AttentionOp::create(
      builder, loc, typeIn(q).clone(shape), lse, q, k, v, sinks, scores.lengths, /*bias=*/Value(),
      scores.slopes, /*documents=*/Value(), starts, /*seed=*/Value(), /*step=*/Value(),
      op.getCausalAttr(), op.getSlidingAttr(), op.getPrefixAttr(), op.getSoftCapAttr(),
      op.getScaleAttr(), op.getDropoutAttr(), IntegerAttr(), ArrayAttr());
  return {attention.getResult(), attention.getLse()};
}

graph::AttentionGradOp AttentionParts::attendBackAt(graph::AttentionGradOp op, const Saved &saved,
                                                    Value k, Value v, const Scores &scores,
                                                    Value starts) const {
  return graph::AttentionGradOp::create(
      builder, loc, saved.q.getType(), k.getType(), v.getType(), /*dbias=*/Type(), saved.q, k, v,
      saved.out, saved.lse, saved.dout, saved.dlse, scores.lengths, /*bias=*/Value(), scores.slopes,
      /*documents=*/Value(), starts, /*seed=*/Value(), /*step=*/Value(), op.getCausalAttr(),
      op.getSlidingAttr(), op.getPrefixAttr(), op.getSoftCapAttr(), op.getScaleAttr(),
      op.getDropoutAttr(), op.getIdAttr(), ArrayAttr());
}

AttentionParts::Result AttentionParts::join(const Result &a, const Result &b) const {
  RankedTensorType ofLse = typeIn(b.lse);
  auto point = [&](graph::PointFunction function, Value x, ArrayRef<double> parameters = {}) {
    return graph::PointOp::create(builder, loc, typeIn(x), x, function, parameters);
  };
  Value over = graph::SubtractOp::create(builder, loc, ofLse, b.lse, a.lse).getResult();
  over = point(graph::PointFunction::Clamp, over,
               {-std::numeric_limits<double>::infinity(), kMostDifference});
  Value lse = graph::SubtractOp::create(builder, loc, ofLse, b.lse,
                                        point(graph::PointFunction::LogSigmoid, over));
  ArrayRef<int64_t> rows = ofLse.getShape();
  SmallVector<int64_t> ofRows{rows[0], rows[2], rows[1]};
  Value share = graph::TransposeOp::create(
      builder, loc, RankedTensorType::get(ofRows, builder.getF32Type()),
      point(graph::PointFunction::Sigmoid, over), builder.getDenseI64ArrayAttr({0, 2, 1}));
  ofRows.push_back(1);
  share = shaped(share, ofRows);
  Value first = as(a.out, builder.getF32Type());
  RankedTensorType wide = typeIn(first);
  Value more =
      graph::SubtractOp::create(builder, loc, wide, as(b.out, builder.getF32Type()), first);
  Value out = graph::AddOp::create(builder, loc, wide, first,
                                   graph::MultiplyOp::create(builder, loc, wide, more, share));
  return {out, lse};
}

void AttentionParts::add(Sum &sum, Value value) const {
  Value wide = as(value, builder.getF32Type());
  if (wide != value)
    sum.ops.push_back(wide.getDefiningOp());
  if (!sum.value) {
    sum.value = wide;
    return;
  }
  sum.value = graph::AddOp::create(builder, loc, typeIn(wide), sum.value, wide);
  sum.ops.push_back(sum.value.getDefiningOp());
}

void AttentionParts::round(Sum &sum, Type element) const {
  Value rounded = as(sum.value, element);
  if (rounded != sum.value)
    sum.ops.push_back(rounded.getDefiningOp());
  sum.value = rounded;
}

Value AttentionParts::as(Value x, Type element) const {
  RankedTensorType type = typeIn(x);
  if (type.getElementType() == element)
    return x;
  return graph::CastOp::create(builder, loc, type.clone(element), x);
}

Value AttentionParts::shaped(Value x, ArrayRef<int64_t> shape) const {
  if (typeIn(x).getShape() == shape)
    return x;
  return graph::ReshapeOp::create(builder, loc, typeIn(x).clone(shape), x);
}

Value AttentionParts::partOf(Value x, int64_t dim, int64_t index, int64_t count) const {
  if (count == 1)
    return x;
  SmallVector<int64_t> shape(typeIn(x).getShape());
  shape[dim] /= count;
  return graph::SliceOp::create(builder, loc, typeIn(x).clone(shape), x,
                                builder.getI64IntegerAttr(dim),
                                builder.getI64IntegerAttr(index * shape[dim]),
                                builder.getI64IntegerAttr(shape[dim]), UnitAttr());
}

Value AttentionParts::joined(ArrayRef<Value> parts, int64_t dim) const {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<int64_t> shape(typeIn(parts.front()).getShape());
  shape[dim] *= static_cast<int64_t>(parts.size());
  return graph::ConcatOp::create(builder, loc, typeIn(parts.front()).clone(shape), parts,
                                 builder.getI64IntegerAttr(dim), UnitAttr());
}

AttentionParts::Saved AttentionParts::partOf(const Saved &saved, int64_t index,
                                             int64_t count) const {
  auto part = [&](Value x, int64_t dim) { return x ? partOf(x, dim, index, count) : x; };
  return {part(saved.q, kRowTokens), part(saved.out, kRowTokens), part(saved.lse, kLseTokens),
          part(saved.dout, kRowTokens), part(saved.dlse, kLseTokens)};
}

Value AttentionParts::startsOf(const graph::DimSplit &split, int64_t samples, int64_t tokens,
                               int64_t piece, int64_t offset, ArrayRef<int64_t> within,
                               ArrayRef<int64_t> turned) const {
  Type i32 = builder.getI32Type();
  constexpr unsigned kChunkLoop = 1;
  auto listOrNone = [&](ArrayRef<int64_t> numbers) {
    return numbers.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(numbers);
  };
  ArrayAttr windows = builder.getArrayAttr(
      graph::getWindow(builder.getContext(), kChunkLoop, split, split.parts * split.pieces));
  Value starts = graph::ChunkStartsOp::create(
      builder, loc, RankedTensorType::get({samples, split.pieces}, i32),
      builder.getI64IntegerAttr(tokens / split.pieces), builder.getI64IntegerAttr(offset),
      listOrNone(within), listOrNone(turned), windows);
  return shaped(partOf(starts, kChunkLoop, piece, split.pieces), {samples});
}

} // namespace dtc
