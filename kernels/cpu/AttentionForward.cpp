// Attention of one kv head over a range of queries: out = softmax(scale * q k^T + bias + mask) v.
//
// For each block of queries, keys come in blocks with a running maximum m and sum l per row; when
// the maximum grows, what was summed so far is rescaled. Scores are kept in units of log 2.
// Cost: 2 * queries * keys * (headDim + valueDim) flops per head, half of it when causal; with a
// window that of `window` keys, with a length that of its keys, and with documents that of the
// query's, since blocks and tiles that no query of them sees are skipped.
// Source: Dao 2023, arXiv:2307.08691, algorithm 1.
#include "kernels/cpu/AttentionTiles.h"
#include "kernels/cpu/IsaTables.h"

namespace dtc::cpu::DTC_ISA {

namespace {

struct ForwardWorkspace {
  float *keys, *values, *query, *scores, *sum;
  float *rowMax, *rowSum;
  int64_t total;
};

ForwardWorkspace layOut(const AttentionArgs &args, float *base) {
  Layout layout{base};
  ForwardWorkspace w;
  w.keys = layout.take(transposedSize(args.keys, args.headDim));
  w.values = layout.take(naturalSize(args.keys, kKeyBlock, valueDim(args)));
  w.query = layout.take(rowPanelSize(kQueryBlock, args.headDim));
  w.scores = layout.take(kQueryBlock * kKeyBlock);
  w.sum = layout.take(kQueryBlock * roundUp(valueDim(args), kTileColumns));
  w.rowMax = layout.take(kQueryBlock);
  w.rowSum = layout.take(kQueryBlock);
  w.total = layout.used;
  return w;
}

// Turns one row of scores into weights relative to the new maximum; rescales the running sums.
void softmaxRow(const AttentionArgs &args, const ScoreBlock &at, int64_t row,
                const ForwardWorkspace &w) {
  float *scores = w.scores + row * kKeyBlock;
  int64_t seen = seenKeys(args, at, row), hidden = hiddenKeys(args, at, row);
  if (seen <= hidden) {
    for (int64_t j = 0; j < at.width; ++j)
      scores[j] = 0;
    return;
  }
  int64_t padded = roundUp(seen, kLanes), start = hidden / kLanes * kLanes;
  if (args.softCap > 0)
    capScores(args.softCap * kLog2E, scores, start, padded);
  if (AddedRow added(args, at, row); added.isSome)
    for (int64_t j = start; j < padded; j += kLanes)
      store(scores + j, load(scores + j) + added.at(j));
  for (int64_t j = 0; j < start; ++j)
    scores[j] = 0;
  for (int64_t j = start; j < hidden; ++j)
    scores[j] = -__builtin_inff();
  for (int64_t j = seen; j < padded; ++j)
    scores[j] = -__builtin_inff();
  Vec largest = load(scores + start);
  for (int64_t j = start + kLanes; j < padded; j += kLanes)
    largest = maximum(load(scores + j), largest);
  // Avoids a branch on a growing maximum, which would be mispredicted more often than it saves. A
  // row of -inf alone subtracts 0, so that its weights are 0 instead of exp(-inf + inf).
  float before = w.rowMax[row], now = maxLanes(largest);
  now = now > before ? now : before;
  w.rowMax[row] = now;
  float subtract = now == -__builtin_inff() ? 0 : now;
  Vec shrink = exp2NonPositive(splat(before - subtract)), total = {};
  int64_t columns = roundUp(valueDim(args), kTileColumns);
  for (int64_t d = 0; d < columns; d += kLanes)
    store(w.sum + row * columns + d, load(w.sum + row * columns + d) * shrink);
  for (int64_t j = start; j < padded; j += kLanes) {
    Vec weight = exp2NonPositive(load(scores + j) - splat(subtract));
    total += weight;
    store(scores + j, weight);
  }
  w.rowSum[row] = w.rowSum[row] * shrink[0] + sumLanes(total);
  for (int64_t j = padded; j < at.width; ++j)
    scores[j] = 0;
}

void dropWeights(const AttentionArgs &args, const ScoreBlock &at, const ForwardWorkspace &w) {
  for (int64_t row = 0; row < at.rows; ++row) {
    DropoutRow dropout(args, at.batchIndex, at.head, at.query + row);
    float *scores = w.scores + row * kKeyBlock;
    int64_t seen = seenKeys(args, at, row);
    for (int64_t j = hiddenKeys(args, at, row) / kLanes * kLanes; j < seen; j += kLanes)
      store(scores + j, load(scores + j) * dropout.factors(at.key + j));
  }
}

// Adds a sink, a score without a value in units of log 2, to the running maximum and sum of one
// row. Returns the factor of what was summed before.
float addSink(float sink, float &largest, float &sum) {
  float now = sink > largest ? sink : largest;
  float subtract = now == -__builtin_inff() ? 0 : now;
  float shrink = __builtin_exp2f(largest - subtract);
  sum = sum * shrink + __builtin_exp2f(sink - subtract);
  largest = now;
  return shrink;
}

void writeRows(const AttentionArgs &args, const ScoreBlock &at, const ForwardWorkspace &w) {
  int64_t dim = valueDim(args), columns = roundUp(dim, kTileColumns);
  int64_t stride = args.heads * dim;
  float *out = args.out + (at.batchIndex * args.queries + at.query) * stride + at.head * dim;
  float *lse = args.lse + (at.batchIndex * args.heads + at.head) * args.queries + at.query;
  for (int64_t row = 0; row < at.rows; ++row) {
    float sum = w.rowSum[row], largest = w.rowMax[row], kept = 1;
    if (args.sinks)
      kept = addSink(args.sinks[at.head] * kLog2E, largest, sum);
    float inverse = sum == 0 ? 0 : kept / sum; // no key seen: 0, not 0/0
    for (int64_t d = 0; d < dim; ++d)
      out[row * stride + d] = w.sum[row * columns + d] * inverse;
    lse[row] = sum == 0 ? -__builtin_inff() : largest * kLn2 + __builtin_logf(sum);
  }
}

void attendBlock(const AttentionArgs &args, ScoreBlock at, const ForwardWorkspace &w) {
  int64_t dim = valueDim(args), columns = roundUp(dim, kTileColumns);
  int64_t seen = endKey(args, at.query + at.rows - 1);
  memset(w.sum, 0, kQueryBlock * columns * sizeof(float));
  for (int row = 0; row < kQueryBlock; ++row) {
    w.rowMax[row] = -__builtin_inff();
    w.rowSum[row] = 0;
  }
  for (at.key = firstKey(args, at.query) / kKeyBlock * kKeyBlock; at.key < seen;
       at.key += kKeyBlock) {
    at.width = least(kKeyBlock, seen - at.key);
    scoreBlock(args, at, args.headDim, w.query, w.keys + at.key * args.headDim, w.scores);
    for (int64_t row = 0; row < at.rows; ++row)
      softmaxRow(args, at, row, w);
    if (args.dropout > 0)
      dropWeights(args, at, w);
    accumulateRows(args, at, dim, w.scores, w.values + at.key * columns, w.sum);
  }
  writeRows(args, at, w);
}

} // namespace

int64_t attentionWorkspace(const AttentionArgs &args) { return layOut(args, nullptr).total; }

void attentionUnit(const AttentionArgs &all, int64_t batchIndex, int64_t kvHead, int64_t queryBegin,
                   int64_t queryEnd, float *workspace) {
  AttentionArgs args = ofSample(all, batchIndex);
  ForwardWorkspace w = layOut(args, workspace);
  int64_t group = args.heads / args.kvHeads;
  int64_t first = firstKey(args, queryBegin) / kKeyBlock * kKeyBlock;
  int64_t seen = greatest(0, endKey(args, queryEnd - 1) - first);
  HeadView key =
      headView(args.k, args.keys, args.kvHeads, args.headDim, batchIndex, kvHead, args.kRow);
  HeadView value =
      headView(args.v, args.keys, args.kvHeads, valueDim(args), batchIndex, kvHead, args.vRow);
  if (first > 0)
    key.data = key.row(first), value.data = value.row(first);
  packTransposed(key, seen, args.headDim, w.keys + first * args.headDim);
  packNatural(value, seen, kKeyBlock, valueDim(args),
              w.values + first * roundUp(valueDim(args), kTileColumns));
  for (int64_t head = kvHead * group; head < (kvHead + 1) * group; ++head) {
    HeadView query =
        headView(args.q, args.queries, args.heads, args.headDim, batchIndex, head, args.qRow);
    for (int64_t begin = queryBegin; begin < queryEnd; begin += kQueryBlock) {
      int64_t rows = least(kQueryBlock, queryEnd - begin);
      packRowPanels(query, begin, rows, args.headDim, args.scale * kLog2E, w.query);
      attendBlock(args, {batchIndex, head, begin, rows, 0, 0}, w);
    }
  }
}

} // namespace dtc::cpu::DTC_ISA
