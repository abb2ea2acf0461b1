// Attention of a rank that has part of the queries and all keys, by the positions of both.
#include "passes/shard/PlacedAttention.h"

using namespace mlir;

namespace dtc {

template <typename Op> static bool countsPositions(Op op) {
  return op.getSliding() || op.getPrefix() || op.getSlopes() ||
         (op.getCausal() && op.getLengths());
}

bool PlacedAttention::isFor(Operation *attention) {
  if (auto forward = dyn_cast<graph::AttentionOp>(attention))
    return countsPositions(forward);
  return countsPositions(cast<graph::AttentionGradOp>(attention));
}

// The positions of the first query of a run, and of the first key.
Value PlacedAttention::startsOf(Value q, int64_t run) const {
  int64_t tokens = AttentionParts::shapeOf(q)[1];
  Value first = parts.startsOf(split, /*samples=*/1, tokens, run),
        ofKeys = parts.startsOf(split, /*samples=*/1, tokens, run, /*offset=*/0, {0, 0});
  return parts.joined({first, ofKeys}, 0);
}

AttentionParts::Result PlacedAttention::forward(graph::AttentionOp op, Value q, Value k, Value v,
                                                Value sinks, const Scores &scores) const {
  SmallVector<Value> outs, lses;
  for (int64_t run = 0; run < split.pieces; ++run) {
    Value part = parts.partOf(q, 1, run, split.pieces);
    SmallVector<int64_t> shape(AttentionParts::shapeOf(part));
    auto lse = RankedTensorType::get({shape[0], shape[2], shape[1]}, builder.getF32Type());
    shape[3] = AttentionParts::shapeOf(v)[3];
    auto attention = graph::AttentionOp::create(
        builder, loc, RankedTensorType::get(shape, AttentionParts::elementOf(q)), lse, part, k, v,
        sinks, scores.lengths, /*bias=*/Value(), scores.slopes, /*documents=*/Value(),
        startsOf(q, run), /*seed=*/Value(), /*step=*/Value(), op.getCausalAttr(),
        op.getSlidingAttr(), op.getPrefixAttr(), op.getSoftCapAttr(), op.getScaleAttr(),
        op.getDropoutAttr(), IntegerAttr(), ArrayAttr());
    outs.push_back(attention.getResult());
    lses.push_back(attention.getLse());
  }
  return {parts.joined(outs, 1), parts.joined(lses, 2)};
}

PlacedAttention::Gradients PlacedAttention::backward(graph::AttentionGradOp op,
                                                     const AttentionParts::Saved &saved, Value k,
                                                     Value v, const Scores &scores) const {
  Gradients made;
  SmallVector<Value> dqs;
  for (int64_t run = 0; run < split.pieces; ++run) {
    AttentionParts::Saved part = parts.partOf(saved, run, split.pieces);
    auto grad = graph::AttentionGradOp::create(
        builder, loc, part.q.getType(), k.getType(), v.getType(), /*dbias=*/Type(), part.q, k, v,
        part.out, part.lse, part.dout, part.dlse, scores.lengths, /*bias=*/Value(), scores.slopes,
        /*documents=*/Value(), startsOf(saved.q, run), /*seed=*/Value(), /*step=*/Value(),
        op.getCausalAttr(), op.getSlidingAttr(), op.getPrefixAttr(), op.getSoftCapAttr(),
        op.getScaleAttr(), op.getDropoutAttr(), op.getIdAttr(), ArrayAttr());
    made.runs.push_back(grad);
    dqs.push_back(grad.getDq());
    parts.add(made.dk, grad.getDk());
    parts.add(made.dv, grad.getDv());
  }
  parts.round(made.dk, AttentionParts::elementOf(k));
  parts.round(made.dv, AttentionParts::elementOf(v));
  made.dq = parts.joined(dqs, 1);
  return made;
}

} // namespace dtc
