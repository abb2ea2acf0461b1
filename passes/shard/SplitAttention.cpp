// Attention of a rank that has part of the queries and all keys.
#include "passes/shard/SplitAttention.h"

using namespace mlir;

namespace dtc {
// The number of keys in front of a run of the rank's queries, for each sample.
Value SplitAttention::lengthsOf(Value q, int64_t piece) const {
  return parts.startsOf(split, AttentionParts::shapeOf(q)[0], AttentionParts::shapeOf(q)[1], piece);
}

// Takes the runs of each sample for samples: attention of the own keys knows none but its own run.
Value SplitAttention::apart(Value x) const {
  SmallVector<int64_t> shape(AttentionParts::shapeOf(x));
  shape[0] *= split.pieces;
  shape[1] /= split.pieces;
  return parts.shaped(x, shape);
}

// [batch, heads, runs x queries] to [batch x runs, heads, queries].
Value SplitAttention::apartLse(Value lse) const {
  if (!lse || split.pieces == 1)
    return lse;
  SmallVector<Value> runs;
  for (int64_t piece = 0; piece < split.pieces; ++piece) {
    Value run = parts.partOf(lse, 2, piece, split.pieces);
    ArrayRef<int64_t> shape = AttentionParts::shapeOf(run);
    runs.push_back(parts.shaped(run, {shape[0], 1, shape[1], shape[2]}));
  }
  ArrayRef<int64_t> shape = AttentionParts::shapeOf(runs.front());
  return parts.shaped(parts.joined(runs, 1), {shape[0] * split.pieces, shape[2], shape[3]});
}

AttentionParts::Result SplitAttention::forward(graph::AttentionOp op, Value q, Value sinks,
                                               const Keys &keys) const {
  int64_t pieces = split.pieces;
  AttentionParts::Result own =
      parts.attend(op, apart(q), apart(keys.own), apart(keys.ownValues), sinks, Value(), true);
  // Brings the runs of the own part back into their samples.
  SmallVector<int64_t> whole(AttentionParts::shapeOf(q)), ofLse(AttentionParts::shapeOf(own.lse));
  whole[3] = AttentionParts::shapeOf(own.out)[3];
  own.out = parts.shaped(own.out, whole);
  own.lse = parts.shaped(own.lse, {whole[0], pieces, ofLse[1], ofLse[2]});
  SmallVector<Value> outs, lses;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    AttentionParts::Result before =
        parts.attend(op, parts.partOf(q, 1, piece, pieces), keys.all, keys.allValues,
                     /*sinks=*/Value(), lengthsOf(q, piece), false);
    AttentionParts::Result run{
        parts.partOf(own.out, 1, piece, pieces),
        parts.shaped(parts.partOf(own.lse, 1, piece, pieces), AttentionParts::shapeOf(before.lse))};
    AttentionParts::Result both = parts.join(before, run);
    outs.push_back(parts.as(both.out, AttentionParts::elementOf(q)));
    lses.push_back(both.lse);
  }
  return {parts.joined(outs, 1), parts.joined(lses, 2)};
}

SplitAttention::Gradients SplitAttention::backward(graph::AttentionGradOp op,
                                                   const AttentionParts::Saved &saved,
                                                   const Keys &keys) const {
  Gradients made;
  Type element = AttentionParts::elementOf(saved.q);
  made.own = parts.attendBack(op,
                              {apart(saved.q), apart(saved.out), apartLse(saved.lse),
                               apart(saved.dout), apartLse(saved.dlse)},
                              apart(keys.own), apart(keys.ownValues), Value(), true);
  made.ownDk = parts.shaped(made.own.getDk(), AttentionParts::shapeOf(keys.own));
  made.ownDv = parts.shaped(made.own.getDv(), AttentionParts::shapeOf(keys.ownValues));
  SmallVector<Value> dqs;
  for (int64_t piece = 0; piece < split.pieces; ++piece) {
    auto before = parts.attendBack(op, parts.partOf(saved, piece, split.pieces), keys.all,
                                   keys.allValues, lengthsOf(saved.q, piece), false);
    dqs.push_back(before.getDq());
    parts.add(made.dk, before.getDk());
    parts.add(made.dv, before.getDv());
    made.before.push_back(before);
  }
  parts.round(made.dk, element);
  parts.round(made.dv, element);
  AttentionParts::Sum dq;
  parts.add(dq, parts.joined(dqs, 1));
  parts.add(dq, parts.shaped(made.own.getDq(), AttentionParts::shapeOf(saved.q)));
  parts.round(dq, element);
  made.dq = dq.value;
  return made;
}

} // namespace dtc
