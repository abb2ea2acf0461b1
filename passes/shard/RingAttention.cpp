// Attention of a rank that has part of the queries, by which the keys of all ranks pass.
#include "passes/shard/RingAttention.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;

namespace dtc {
// Sends a tensor to the next rank, and returns the one that comes from the rank before.
Value RingAttention::passOn(Value x, Pass pass) const {
  auto shift = shard::ShiftOp::create(
      builder, loc, x.getType(), FlatSymbolRefAttr::get(builder.getContext(), graph::kMeshName),
      builder.getDenseI16ArrayAttr({static_cast<int16_t>(axis)}), x, builder.getIndexAttr(axis),
      builder.getI64IntegerAttr(1), builder.getUnitAttr());
  shift->setAttr(graph::kCommunicationAttr,
                 graph::CommunicationAttr::get(builder.getContext(),
                                               graph::CollectiveRole::Activation, /*async=*/true,
                                               static_cast<int64_t>(pass)));
  return shift;
}

void RingAttention::passOn(AttentionParts::Sum &sum) const {
  sum.value = passOn(sum.value, Pass::Backward);
}

// The keys of step `step` that a run of the queries sees, for each sample. The first run begins at
// chunk r of 2n, the second one at 2n - 1 - r: both are further on where the rank that the keys are
// of is the i-th one before, and not beyond the end of the ring.
Value RingAttention::lengthsOf(Value q, int64_t step, int64_t run) const {
  int64_t chunk = AttentionParts::shapeOf(q)[1] / split.pieces;
  int64_t first = run == 0 ? step - 1 : 2 * ranks - 2 - step;
  return parts.startsOf(split, AttentionParts::shapeOf(q)[0], AttentionParts::shapeOf(q)[1], run,
                        -first * chunk, {run * chunk, (run + 1) * chunk});
}

AttentionParts::Result RingAttention::forward(graph::AttentionOp op, Value q, Value sinks,
                                              Keys keys) const {
  bool isCausal = op.getCausal();
  int64_t runs = runsOf(isCausal);
  SmallVector<AttentionParts::Result, 2> all;
  for (int64_t step = 0; step < ranks; ++step) {
    Keys now = keys;
    if (step + 1 < ranks)
      keys = passOn(now, Pass::Forward);
    if (step == 0) {
      AttentionParts::Result own = parts.attend(op, q, now.k, now.v, sinks, Value(), isCausal);
      for (int64_t run = 0; run < runs; ++run)
        all.push_back({parts.partOf(own.out, 1, run, runs), parts.partOf(own.lse, 2, run, runs)});
      continue;
    }
    for (int64_t run = 0; run < runs; ++run) {
      Value lengths = isCausal ? lengthsOf(q, step, run) : Value();
      AttentionParts::Result seen = parts.attend(op, parts.partOf(q, 1, run, runs), now.k, now.v,
                                                 /*sinks=*/Value(), lengths, false);
      all[run] = parts.join(seen, all[run]);
    }
  }
  SmallVector<Value> outs, lses;
  for (const AttentionParts::Result &run : all) {
    outs.push_back(parts.as(run.out, AttentionParts::elementOf(q)));
    lses.push_back(run.lse);
  }
  return {parts.joined(outs, 1), parts.joined(lses, 2)};
}

RingAttention::Gradients RingAttention::backward(graph::AttentionGradOp op,
                                                 const AttentionParts::Saved &saved,
                                                 Keys keys) const {
  bool isCausal = op.getCausal();
  int64_t runs = runsOf(isCausal);
  Gradients made;
  AttentionParts::Sum dq, ownDk, ownDv;
  auto attend = [&](const AttentionParts::Saved &of, const Keys &now, Value lengths, bool masks) {
    made.steps.push_back(parts.attendBack(op, of, now.k, now.v, lengths, masks));
    return made.steps.back();
  };
  for (int64_t step = 0; step < ranks; ++step) {
    Keys now = keys;
    if (step + 1 < ranks)
      keys = passOn(now, Pass::Backward);
    if (step == 0) {
      auto own = attend(saved, now, Value(), isCausal);
      parts.add(dq, own.getDq());
      parts.add(ownDk, own.getDk());
      parts.add(ownDv, own.getDv());
      continue;
    }
    if (step > 1) {
      passOn(made.dk);
      passOn(made.dv);
    }
    SmallVector<Value> dqs;
    for (int64_t run = 0; run < runs; ++run) {
      Value lengths = isCausal ? lengthsOf(saved.q, step, run) : Value();
      auto seen = attend(parts.partOf(saved, run, runs), now, lengths, false);
      dqs.push_back(seen.getDq());
      parts.add(made.dk, seen.getDk());
      parts.add(made.dv, seen.getDv());
    }
    parts.add(dq, parts.joined(dqs, 1));
  }
  passOn(made.dk);
  passOn(made.dv);
  for (auto [sum, own] : {std::pair(&made.dk, &ownDk), std::pair(&made.dv, &ownDv)}) {
    sum->ops.append(own->ops);
    parts.add(*sum, own->value);
    parts.round(*sum, AttentionParts::elementOf(keys.k));
  }
  parts.round(dq, AttentionParts::elementOf(saved.q));
  made.dq = dq.value;
  return made;
}

} // namespace dtc
