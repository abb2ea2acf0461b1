// Gradients of attention for one kv head: dq of its query heads, and its dk and dv; or dbias of one
// query head.
//
// Per block of keys and block of queries, with P recomputed from lse and delta = rowsum(dout *
// out):
//   P = exp(scale * q k^T - lse)   dv += P^T dout   dP = dout v^T   dS = P * (dP - delta)
//   dq += scale * dS k             dk += scale * dS^T q
// With dropout, P counts as kept and scaled in dv, and dP in dS. With a soft cap c, P is that of
// the capped scores t = c tanh(s / c), and dS is multiplied by 1 - (t / c)^2; dbias is the sum of
// dS without that, as bias is added to t.
// Cost: 2 * queries * keys * (3 headDim + 2 valueDim) flops per head, half of it when causal; with
// a window that of `window` keys, with a length that of its keys, and with documents that of the
// query's, since blocks and tiles that see nothing are skipped. dbias: 2 * queries * keys *
// (headDim + valueDim).
// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
#include "kernels/cpu/AttentionTiles.h"
#include "kernels/cpu/IsaTables.h"

namespace dtc::cpu::DTC_ISA {

namespace {

struct BackwardWorkspace {
  // Buffers of the kv head: columns of panels for the two score products, rows for dq, and the
  // sums.
  float *keyColumns, *valueColumns, *keyRows, *dk, *dv;
  // Buffers of one query head at a time: panels of A and of B.
  float *queryPanels, *doutPanels, *queryRows, *doutRows, *dq, *lse, *delta;
  float *weights, *gradients; // one block each of P and dS
  int64_t total;
};

BackwardWorkspace layOut(const AttentionArgs &args, float *base) {
  Layout layout{base};
  BackwardWorkspace w;
  int64_t padded = roundUp(args.headDim, kTileColumns), dim = valueDim(args);
  w.keyColumns = layout.take(transposedSize(args.keys, args.headDim));
  w.valueColumns = layout.take(transposedSize(args.keys, dim));
  w.keyRows = layout.take(naturalSize(args.keys, kKeyBlock, args.headDim));
  w.dk = layout.take(roundUp(args.keys, kKeyBlock) * padded);
  w.dv = layout.take(roundUp(args.keys, kKeyBlock) * roundUp(dim, kTileColumns));
  int64_t queries = roundUp(args.queries, kQueryBlock);
  w.queryPanels = layout.take(queries * args.headDim);
  w.doutPanels = layout.take(queries * dim);
  w.queryRows = layout.take(naturalSize(args.queries, kQueryBlock, args.headDim));
  w.doutRows = layout.take(naturalSize(args.queries, kQueryBlock, dim));
  w.dq = layout.take(queries * padded);
  w.lse = layout.take(queries);
  w.delta = layout.take(queries);
  w.weights = layout.take(kQueryBlock * kKeyBlock);
  w.gradients = layout.take(kQueryBlock * kKeyBlock);
  w.total = layout.used;
  return w;
}

// Packs queries [range.queryBegin, range.queryEnd) of one head and their gradients.
void prepareHead(const AttentionGradArgs &args, const AttentionGradRange &range, int64_t head,
                 const BackwardWorkspace &w) {
  const AttentionArgs &f = args.forward;
  int64_t begin = range.queryBegin, count = range.queryEnd - begin, dim = valueDim(f);
  HeadView query = headView(f.q, f.queries, f.heads, f.headDim, range.batchIndex, head, f.qRow);
  HeadView dout = headView(args.dout, f.queries, f.heads, dim, range.batchIndex, head);
  query.data = query.row(begin), dout.data = dout.row(begin);
  for (int64_t i = 0; i < count; i += kQueryBlock) {
    int64_t rows = least(kQueryBlock, count - i);
    packRowPanels(query, i, rows, f.headDim, f.scale * kLog2E, w.queryPanels + i * f.headDim);
    packRowPanels(dout, i, rows, dim, 1, w.doutPanels + i * dim);
  }
  packNatural(query, count, kQueryBlock, f.headDim, w.queryRows);
  packNatural(dout, count, kQueryBlock, dim, w.doutRows);
  int64_t row = (range.batchIndex * f.heads + head) * f.queries + begin;
  int64_t padded = roundUp(count, kQueryBlock);
  for (int64_t i = 0; i < padded; ++i) {
    // +inf makes exp2(score - lse) zero: for a row that sees no key, and for padding.
    bool empty = i >= count || f.lse[row + i] == -__builtin_inff();
    w.lse[i] = empty ? __builtin_inff() : f.lse[row + i] * kLog2E;
    w.delta[i] = empty ? 0 : args.scratch[row + i];
  }
  memset(w.dq, 0, padded * roundUp(f.headDim, kTileColumns) * sizeof(float));
}

// Updates a row in place: scores become P (kept and scaled under dropout), products dout v^T become
// dS; `ofBias`: that of the capped scores.
void gradientRow(const AttentionArgs &args, const ScoreBlock &at, int64_t row, int64_t query,
                 bool ofBias, const BackwardWorkspace &w) {
  float *weights = w.weights + row * kKeyBlock, *gradients = w.gradients + row * kKeyBlock;
  int64_t seen = seenKeys(args, at, row), hidden = hiddenKeys(args, at, row);
  // Clears the rest of the tile: accumulateColumns reads whole tiles of columns, so unseen elements
  // must be 0.
  int64_t columns = least(kKeyBlock, roundUp(roundUp(at.width, kTileRows), kLanes));
  Vec lse = splat(w.lse[query]), delta = splat(w.delta[query]);
  DropoutRow dropout(args, at.batchIndex, at.head, at.query + row);
  AddedRow added(args, at, row);
  float cap = args.softCap * kLog2E;
  int64_t j = 0;
  for (; j < hidden / kLanes * kLanes; j += kLanes) {
    store(weights + j, Vec{});
    store(gradients + j, Vec{});
  }
  for (; j < seen; j += kLanes) {
    IntVec column = splatInt(static_cast<int32_t>(j)) + iota();
    IntVec visible = column < splatInt(static_cast<int32_t>(seen));
    if (hidden > 0)
      visible &= column >= splatInt(static_cast<int32_t>(hidden));
    Vec score = load(weights + j), slope = splat(1.0f);
    if (cap > 0) {
      Vec part = tanh(score * splat(1 / cap));
      score = splat(cap) * part;
      slope = slope - part * part; // d(cap tanh(s / cap)) / ds
    }
    if (added.isSome)
      score += added.at(j);
    Vec weight = select(visible, exp2NonPositive(score - lse), Vec{});
    Vec product = select(visible, load(gradients + j), Vec{});
    if (args.dropout > 0) {
      Vec factor = dropout.factors(at.key + j);
      store(weights + j, weight * factor);
      product = product * factor;
    } else {
      store(weights + j, weight);
    }
    Vec gradient = weight * (product - delta);
    store(gradients + j, cap > 0 && !ofBias ? select(visible, gradient * slope, Vec{}) : gradient);
  }
  for (; j < columns; j += kLanes) {
    store(weights + j, Vec{});
    store(gradients + j, Vec{});
  }
}

// Adds dS of one block to the gradient of bias.
void addToBias(const AttentionGradArgs &args, const ScoreBlock &at, const float *gradients) {
  const AttentionArgs &f = args.forward;
  BiasStrides strides = biasStrides(f);
  float *head = args.dbias + at.batchIndex * strides.batch + at.head * strides.head;
  for (int64_t row = 0; row < at.rows; ++row, gradients += kKeyBlock) {
    float *to = head + (at.query + row) * strides.query + at.key * strides.key;
    for (int64_t j = hiddenKeys(f, at, row); j < seenKeys(f, at, row); ++j)
      to[j * strides.key] += gradients[j];
  }
}

// Processes one block; `at` is in the whole tensor, while packed operands start at the range's
// first query and key.
void gradientBlock(const AttentionGradArgs &grad, const AttentionGradRange &range,
                   const ScoreBlock &at, const BackwardWorkspace &w) {
  const AttentionArgs &args = grad.forward;
  int64_t padded = roundUp(args.headDim, kTileColumns), dim = valueDim(args);
  int64_t paddedDim = roundUp(dim, kTileColumns);
  int64_t query = at.query - range.queryBegin, key = at.key - range.keyBegin;
  scoreBlock(args, at, args.headDim, w.queryPanels + query * args.headDim,
             w.keyColumns + key * args.headDim, w.weights);
  scoreBlock(args, at, dim, w.doutPanels + query * dim, w.valueColumns + key * dim, w.gradients);
  for (int64_t row = 0; row < at.rows; ++row)
    gradientRow(args, at, row, query + row, range.biasGradient, w);
  if (range.biasGradient)
    addToBias(grad, at, w.gradients);
  if (range.keyGradients) {
    accumulateColumns(args, at, dim, w.weights, w.doutRows + query * paddedDim,
                      w.dv + key * paddedDim);
    accumulateColumns(args, at, args.headDim, w.gradients, w.queryRows + query * padded,
                      w.dk + key * padded);
  }
  if (range.queryGradients)
    accumulateRows(args, at, args.headDim, w.gradients, w.keyRows + key * padded,
                   w.dq + query * padded);
}

// Returns the view of the kv head from the first key of the range on.
HeadView keyView(const AttentionArgs &f, const AttentionGradRange &range) {
  HeadView key =
      headView(f.k, f.keys, f.kvHeads, f.headDim, range.batchIndex, range.kvHead, f.kRow);
  key.data = key.row(range.keyBegin);
  return key;
}

// Packs the keys and values of the range as columns of the score products.
void packKeys(const AttentionArgs &f, const AttentionGradRange &range, const BackwardWorkspace &w) {
  int64_t count = range.keyEnd - range.keyBegin, dim = valueDim(f);
  HeadView value = headView(f.v, f.keys, f.kvHeads, dim, range.batchIndex, range.kvHead, f.vRow);
  value.data = value.row(range.keyBegin);
  packTransposed(keyView(f, range), count, f.headDim, w.keyColumns);
  packTransposed(value, count, dim, w.valueColumns);
}

void writeRows(const float *from, int64_t rows, int64_t headDim, float scale, float *to,
               int64_t stride) {
  int64_t padded = roundUp(headDim, kTileColumns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t d = 0; d < headDim; ++d)
      to[i * stride + d] = scale * from[i * padded + d];
}

void headGradients(const AttentionGradArgs &args, const AttentionGradRange &range, int64_t head,
                   const BackwardWorkspace &w) {
  const AttentionArgs &f = args.forward;
  prepareHead(args, range, head, w);
  for (int64_t key = range.keyBegin; key < range.keyEnd; key += kKeyBlock)
    for (int64_t query = range.queryBegin; query < range.queryEnd; query += kQueryBlock) {
      int64_t rows = least(kQueryBlock, range.queryEnd - query);
      int64_t seen = least(range.keyEnd, endKey(f, query + rows - 1)) - key;
      if (seen > 0 && firstKey(f, query) < key + kKeyBlock)
        gradientBlock(args, range,
                      {range.batchIndex, head, query, rows, key, least(kKeyBlock, seen)}, w);
    }
  if (range.queryGradients && range.queryEnd > range.queryBegin) {
    int64_t token = range.batchIndex * f.queries + range.queryBegin;
    int64_t row = args.dqRow == 0 ? f.heads * f.headDim : args.dqRow;
    writeRows(w.dq, range.queryEnd - range.queryBegin, f.headDim, f.scale,
              args.dq + token * row + head * f.headDim, row);
  }
}

} // namespace

int64_t attentionGradWorkspace(const AttentionArgs &args) { return layOut(args, nullptr).total; }

// Computes delta[i] = sum over d of dout[i,d] * out[i,d], less dlse[i].
void attentionDelta(const AttentionGradArgs &args, int64_t batchIndex, int64_t head) {
  const AttentionArgs &f = args.forward;
  int64_t dim = valueDim(f);
  HeadView dout = headView(args.dout, f.queries, f.heads, dim, batchIndex, head);
  HeadView out = headView(f.out, f.queries, f.heads, dim, batchIndex, head);
  int64_t first = (batchIndex * f.heads + head) * f.queries;
  float *delta = args.scratch + first;
  for (int64_t i = 0; i < f.queries; ++i) {
    Vec total = {};
    int64_t d = 0;
    for (; d + kLanes <= dim; d += kLanes)
      total += load(dout.row(i) + d) * load(out.row(i) + d);
    float sum = sumLanes(total);
    for (; d < dim; ++d)
      sum += dout.row(i)[d] * out.row(i)[d];
    delta[i] = args.dlse ? sum - args.dlse[first + i] : sum;
  }
}

void attentionGradUnit(const AttentionGradArgs &all, const AttentionGradRange &range,
                       float *workspace) {
  AttentionGradArgs args = all;
  args.forward = ofSample(all.forward, range.batchIndex);
  const AttentionArgs &f = args.forward;
  BackwardWorkspace w = layOut(f, workspace);
  int64_t count = range.keyEnd - range.keyBegin, group = f.heads / f.kvHeads;
  packKeys(f, range, w);
  packNatural(keyView(f, range), count, kKeyBlock, f.headDim, w.keyRows);
  int64_t rows = roundUp(count, kKeyBlock);
  memset(w.dk, 0, rows * roundUp(f.headDim, kTileColumns) * sizeof(float));
  memset(w.dv, 0, rows * roundUp(valueDim(f), kTileColumns) * sizeof(float));
  for (int64_t head = range.kvHead * group; head < (range.kvHead + 1) * group; ++head)
    headGradients(args, range, head, w);
  if (range.keyGradients && count > 0) {
    int64_t token = range.batchIndex * f.keys + range.keyBegin;
    auto write = [&](const float *from, int64_t dim, float scale, float *to, int64_t row) {
      row = row == 0 ? f.kvHeads * dim : row;
      writeRows(from, count, dim, scale, to + token * row + range.kvHead * dim, row);
    };
    write(w.dk, f.headDim, f.scale, args.dk, args.dkRow);
    write(w.dv, valueDim(f), 1, args.dv, args.dvRow);
  }
}

void attentionBiasUnit(const AttentionGradArgs &all, const AttentionGradRange &range, int64_t head,
                       float *workspace) {
  AttentionGradArgs args = all;
  args.forward = ofSample(all.forward, range.batchIndex);
  BackwardWorkspace w = layOut(args.forward, workspace);
  packKeys(args.forward, range, w);
  headGradients(args, range, head, w);
}

} // namespace dtc::cpu::DTC_ISA
