// Attention of a rank that has part of the queries, by which the keys of all ranks pass.
#include "passes/shard/RingAttention.h"

#include "passes/shard/PlacedAttention.h"

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
                                              Keys keys,
                                              const AttentionParts::Scores &scores) const {
  if (PlacedAttention::isFor(op))
    return forwardAt(op, q, sinks, keys, scores);
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
                                                 const AttentionParts::Saved &saved, Keys keys,
                                                 const AttentionParts::Scores &scores) const {
  if (PlacedAttention::isFor(op))
    return backwardAt(op, saved, keys, scores);
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
  finish(made, ownDk, ownDv, keys);
  parts.round(dq, AttentionParts::elementOf(saved.q));
  made.dq = dq.value;
  return made;
}

// Sends the sums of gradients home, and adds those of the own keys.
void RingAttention::finish(Gradients &made, const AttentionParts::Sum &ownDk,
                           const AttentionParts::Sum &ownDv, const Keys &keys) const {
  passOn(made.dk);
  passOn(made.dv);
  for (auto [sum, own] : {std::pair(&made.dk, &ownDk), std::pair(&made.dv, &ownDv)}) {
    sum->ops.append(own->ops);
    parts.add(*sum, own->value);
    parts.round(*sum, AttentionParts::elementOf(keys.k));
  }
}

// The runs and chunks that may see each other; of each run first the chunk of its own place. Under
// a causal mask the first run sees no second chunk, all of which are behind all first ones.
SmallVector<RingAttention::Pair, 4> RingAttention::pairsOf(bool isCausal) const {
  SmallVector<Pair, 4> pairs;
  for (int64_t run = 0; run < split.pieces; ++run)
    for (int64_t turn = 0; turn < split.pieces; ++turn)
      if (int64_t chunk = (run + turn) % split.pieces; !isCausal || chunk <= run)
        pairs.push_back({run, chunk});
  return pairs;
}

// The positions of the first query of a run, and of the first key of a chunk in step `step`: that
// of the step-th rank before, whose first chunk is as many places before the rank's own one, and
// whose second chunk is as many behind it.
Value RingAttention::positionsOf(Value q, int64_t step, const Pair &pair) const {
  int64_t tokens = AttentionParts::shapeOf(q)[1];
  int64_t by[] = {pair.chunk == 0 ? ranks - step : step, ranks};
  ArrayRef<int64_t> turned = step == 0 ? ArrayRef<int64_t>() : ArrayRef(by);
  Value ofQuery = parts.startsOf(split, /*samples=*/1, tokens, pair.run),
        ofKey = parts.startsOf(split, /*samples=*/1, tokens, pair.chunk, /*offset=*/0,
                               /*within=*/{}, turned);
  return parts.joined({ofQuery, ofKey}, 0);
}

RingAttention::Keys RingAttention::chunkOf(const Keys &keys, int64_t chunk) const {
  return {parts.partOf(keys.k, 1, chunk, split.pieces),
          parts.partOf(keys.v, 1, chunk, split.pieces)};
}

AttentionParts::Result RingAttention::forwardAt(graph::AttentionOp op, Value q, Value sinks,
                                                Keys keys,
                                                const AttentionParts::Scores &scores) const {
  SmallVector<AttentionParts::Result, 2> all(split.pieces);
  for (int64_t step = 0; step < ranks; ++step) {
    Keys now = keys;
    if (step + 1 < ranks)
      keys = passOn(now, Pass::Forward);
    for (const Pair &pair : pairsOf(op.getCausal())) {
      AttentionParts::Result &run = all[pair.run];
      Keys chunk = chunkOf(now, pair.chunk);
      AttentionParts::Result seen =
          parts.attendAt(op, parts.partOf(q, 1, pair.run, split.pieces), chunk.k, chunk.v,
                         run.out ? Value() : sinks, scores, positionsOf(q, step, pair));
      run =
          run.out ? parts.join(seen, run) : seen; // a run's own chunk, the first, has its own keys
    }
  }
  SmallVector<Value> outs, lses;
  for (const AttentionParts::Result &run : all) {
    outs.push_back(parts.as(run.out, AttentionParts::elementOf(q)));
    lses.push_back(run.lse);
  }
  return {parts.joined(outs, 1), parts.joined(lses, 2)};
}

// Joins sums of the chunks of keys.
AttentionParts::Sum RingAttention::wholeOf(ArrayRef<AttentionParts::Sum> chunks) const {
  AttentionParts::Sum whole;
  SmallVector<Value> values;
  for (const AttentionParts::Sum &chunk : chunks) {
    values.push_back(chunk.value);
    whole.ops.append(chunk.ops);
  }
  whole.value = parts.joined(values, 1);
  whole.ops.push_back(whole.value.getDefiningOp());
  return whole;
}

RingAttention::Gradients RingAttention::backwardAt(graph::AttentionGradOp op,
                                                   const AttentionParts::Saved &saved, Keys keys,
                                                   const AttentionParts::Scores &scores) const {
  Gradients made;
  AttentionParts::Sum ownDk, ownDv;
  SmallVector<AttentionParts::Sum> dqs(split.pieces);
  for (int64_t step = 0; step < ranks; ++step) {
    Keys now = keys;
    if (step + 1 < ranks)
      keys = passOn(now, Pass::Backward);
    if (step > 1) {
      passOn(made.dk);
      passOn(made.dv);
    }
    SmallVector<AttentionParts::Sum> dks(split.pieces), dvs(split.pieces);
    for (const Pair &pair : pairsOf(op.getCausal())) {
      Keys chunk = chunkOf(now, pair.chunk);
      auto seen = parts.attendBackAt(op, parts.partOf(saved, pair.run, split.pieces), chunk.k,
                                     chunk.v, scores, positionsOf(saved.q, step, pair));
      made.steps.push_back(seen);
      parts.add(dqs[pair.run], seen.getDq());
      parts.add(dks[pair.chunk], seen.getDk());
      parts.add(dvs[pair.chunk], seen.getDv());
    }
    for (auto [sum, own, whole] :
         {std::tuple(&made.dk, &ownDk, wholeOf(dks)), std::tuple(&made.dv, &ownDv, wholeOf(dvs))}) {
      AttentionParts::Sum &of = step == 0 ? *own : *sum;
      of.ops.append(whole.ops);
      parts.add(of, whole.value);
    }
  }
  finish(made, ownDk, ownDv, keys);
  SmallVector<Value> all;
  for (AttentionParts::Sum &dq : dqs) {
    parts.round(dq, AttentionParts::elementOf(saved.q));
    all.push_back(dq.value);
  }
  made.dq = parts.joined(all, 1);
  return made;
}

} // namespace dtc
