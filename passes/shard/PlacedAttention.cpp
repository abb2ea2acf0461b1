// Attention of a rank that has part of the queries and all keys, by the positions of both.
#include "passes/shard/PlacedAttention.h"

using namespace mlir;

namespace dtc {

template <typename Op> static bool countsPositions(Op op) {
  return op.getSliding() || op.getPrefix() || op.getSlopes() || (op.getCausal() && op.getLengths());
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
                                                Value sinks,
                                                const AttentionParts::Scores &scores) const {
  SmallVector<Value> outs, lses;
  for (int64_t run = 0; run < split.pieces; ++run) {
    auto [out, lse] = parts.attendAt(op, parts.partOf(q, 1, run, split.pieces), k, v, sinks, scores,
                                     startsOf(q, run));
    outs.push_back(out);
    lses.push_back(lse);
  }
  return {parts.joined(outs, 1), parts.joined(lses, 2)};
}

PlacedAttention::Gradients PlacedAttention::backward(graph::AttentionGradOp op,
                                                     const AttentionParts::Saved &saved, Value k,
                                                     Value v,
                                                     const AttentionParts::Scores &scores) const {
  Gradients made;
  SmallVector<Value> dqs;
  for (int64_t run = 0; run < split.pieces; ++run) {
    auto grad = parts.attendBackAt(op, parts.partOf(saved, run, split.pieces), k, v, scores,
                                   startsOf(saved.q, run));
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
