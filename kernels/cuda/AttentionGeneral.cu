// Attention forward and its gradients for tensors of any type, head dim up to 256 and strides, by
// plain f32 FMAs: for f32 programs, and 16-bit ones whose rows are not whole 16 bytes.
//
// Formulas and shapes are those of AttentionForward.cu and AttentionBackward.cu. Only these kernels
// have soft caps, prefixes, lengths, documents, bias, slopes, sinks beside dropout, positions that
// start elsewhere, and another head dim of values, which lies in tiles of the larger of both. With
// a soft cap c of scores, P is that of the capped scores t = c tanh(s / c), to which bias is added,
// and dS is multiplied by 1 - (t / c)^2.
//
// Launch: blocks of 16 x 16 threads, one per 64 queries (32 for padded head dims above 128) and
// head. Gradients: Queries, which writes delta too, then Keys, one block per 64 (32) keys and kv
// head; then Bias, one block per 64 (32) queries and 32 keys of the gradient of bias, which adds
// what these have in all samples and heads that share them, and in all queries or keys that do.
//
// Cost: 4 (forward) and 14 (gradients) * queries * keys * headDim flops per head, half of it when
// causal.
#include "kernels/cuda/AttentionMask.h"
#include "kernels/cuda/GeneralTile.h"

namespace dtc::cuda {

namespace {

// The position of one block: rows [first, first + rows) of a head.
template <int rows> struct RowBlock {
  int first, head, batchIndex;
  DTC_DEVICE RowBlock(int first, int head, int batchIndex)
      : first(first), head(head), batchIndex(batchIndex) {}
  DTC_DEVICE RowBlock(int count, int heads) {
    int blocks = (count + rows - 1) / rows, unit = static_cast<int>(blockIndex());
    first = (blocks - 1 - unit % blocks) * rows;
    head = unit / blocks % heads;
    batchIndex = unit / blocks / heads;
  }
};

template <typename T> struct HeadView {
  T *data;
  int64_t stride;
  DTC_DEVICE HeadView(const void *tensor, const HeadStrides &strides, int batchIndex, int head)
      : data(const_cast<T *>(static_cast<const T *>(tensor)) +
             offsetOf(strides, batchIndex, 0, head)),
        stride(strides.token) {}
  DTC_DEVICE T *row(int token) const { return data + token * stride; }
};

template <int kRows, int kColumns, int rows>
DTC_DEVICE void store(const GeneralTile<rows, kGeneralColumns> &tile,
                      const float (&values)[kRows][kColumns]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      *tile.at(threadY() + 16 * i, threadX() + 16 * j) = values[i][j];
}

template <typename T, int D, bool kDropout> struct Forward {
  static constexpr int kBlockRows = generalRows(D), kRows = kBlockRows / 16;
  static constexpr int kColumns = kGeneralColumns / 16;
  using Queries = GeneralTile<kBlockRows, D>;
  using Keys = GeneralTile<kGeneralColumns, D>;
  using Weights = GeneralTile<kBlockRows, kGeneralColumns>;

  const AttentionParams &p;
  RowBlock<kBlockRows> at;
  float largest[kRows], sum[kRows]; // values of rows y + 16 i; for the sum this thread's part
  GeneralSums<kRows, D> sums;

  DTC_DEVICE explicit Forward(const AttentionParams &p) : p(p), at(p.queries, p.heads) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      largest[i] = -kInfinity, sum[i] = 0;
  }

  DTC_DEVICE void softmax(const Dropout<kDropout> &dropout, const SampleMask &mask,
                          const AddedScores &added, int key, float (&scores)[kRows][kColumns]) {
    float scale = p.scale * kLog2E;
    SoftCap softCap(p);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int query = at.first + threadY() + 16 * i;
      float now = largest[i];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        bool seen = query < p.queries && mask.sees(p, query, key + threadX() + 16 * j);
        if (p.softCap > 0)
          scores[i][j] = softCap.apply(scores[i][j]);
        scores[i][j] = seen ? scores[i][j] * scale : -kInfinity;
        if (added.isSome && seen)
          scores[i][j] += added.at(query, key + threadX() + 16 * j);
        now = maximum(now, scores[i][j]);
      }
      now = maximumOver<16>(now);
      // Subtracts 0 in a row of -inf alone, so that its weights are 0 instead of exp(-inf + inf).
      float subtract = now == -kInfinity ? 0 : now;
      float shrink = exp2Approximate(largest[i] - subtract);
      largest[i] = now;
      sum[i] *= shrink;
#pragma unroll
      for (int c = 0; c < GeneralSums<kRows, D>::kColumns; ++c)
        sums.values[i][c] *= shrink;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        float weight = exp2Approximate(scores[i][j] - subtract);
        sum[i] += weight;
        scores[i][j] = weight * dropout.factor(query, key + threadX() + 16 * j);
      }
    }
  }

  DTC_DEVICE void run() {
    Queries queries{reinterpret_cast<float *>(dtcDynamicShared)};
    Keys keys{queries.data + Queries::kBytes / 4}, values{keys.data + Keys::kBytes / 4};
    Weights weights{values.data + Keys::kBytes / 4};
    int kvHead = at.head / (p.heads / p.kvHeads);
    HeadView<const T> q(p.q, p.qStrides, at.batchIndex, at.head),
        k(p.k, p.kStrides, at.batchIndex, kvHead), v(p.v, p.vStrides, at.batchIndex, kvHead);
    queries.fill(q.row(at.first), q.stride, p.queries - at.first, p.headDim);
    SampleMask mask(p, at.batchIndex);
    int begin = mask.blockBegin(p, at.first) / kGeneralColumns * kGeneralColumns;
    int end = mask.blockEnd(p, least(p.queries, at.first + kBlockRows) - 1);
    Dropout<kDropout> dropout(p, at.batchIndex, at.head);
    AddedScores added(p, at.batchIndex, at.head);
    for (int key = begin; key < end; key += kGeneralColumns) {
      blockBarrier(); // the keys and values before have been used
      keys.fill(k.row(key), k.stride, p.keys - key, p.headDim);
      values.fill(v.row(key), v.stride, p.keys - key, valueDim(p));
      blockBarrier();
      float scores[kRows][kColumns];
      multiplyRows(scores, queries, keys);
      softmax(dropout, mask, added, key, scores);
      store(weights, scores);
      warpBarrier();
      sums.add(weights, values);
    }
    finish();
  }

  DTC_DEVICE void finish() {
    float factors[kRows];
    float *lse = p.lse + statisticsRow(p, at.batchIndex, at.head);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float total = sumOver<16>(sum[i]);
      float kept = addSink(p, at.head, 1, largest[i], total);
      factors[i] = total == 0 ? 0 : kept / total; // no key seen: 0, not 0/0
      int query = at.first + threadY() + 16 * i;
      if (threadX() == 0 && query < p.queries)
        lse[query] = total == 0 ? -kInfinity : (largest[i] + log2Approximate(total)) * kLn2;
    }
    HeadView<T> out(p.out, p.outStrides, at.batchIndex, at.head);
    sums.write(out.row(at.first), out.stride, p.queries - at.first, valueDim(p), factors);
  }
};

// The gradients of one block, as in AttentionBackward.cu: rows stay, columns pass; for dq rows are
// queries, else keys.
template <typename T, int D, bool kKeyRows, bool kDropout> struct Gradient {
  static constexpr int kBlockRows = generalRows(D), kRows = kBlockRows / 16;
  static constexpr int kColumns = kGeneralColumns / 16;
  using Rows = GeneralTile<kBlockRows, D>;
  using Columns = GeneralTile<kGeneralColumns, D>;
  using Weights = GeneralTile<kBlockRows, kGeneralColumns>;

  const AttentionParams &p;
  RowBlock<kBlockRows> at;
  Rows rowsA, rowsB;
  Columns columnsA, columnsB;
  Weights weights, gradients;
  float lse[kRows], deltas[kRows]; // used if rows are queries
  GeneralSums<kRows, D> sumsA, sumsB;

  DTC_DEVICE explicit Gradient(const AttentionParams &p)
      : Gradient(p, RowBlock<kBlockRows>(kKeyRows ? p.keys : p.queries,
                                         kKeyRows ? p.kvHeads : p.heads)) {}
  DTC_DEVICE Gradient(const AttentionParams &p, RowBlock<kBlockRows> rowBlock)
      : p(p), at(rowBlock) {
    rowsA.data = reinterpret_cast<float *>(dtcDynamicShared);
    rowsB.data = rowsA.data + Rows::kBytes / 4;
    columnsA.data = rowsB.data + Rows::kBytes / 4;
    columnsB.data = columnsA.data + Columns::kBytes / 4;
    weights.data = columnsB.data + Columns::kBytes / 4;
    gradients.data = weights.data + Weights::kBytes / 4;
  }

  DTC_DEVICE HeadView<const T> viewA(bool keys, int head) const {
    return keys ? HeadView<const T>(p.k, p.kStrides, at.batchIndex, head)
                : HeadView<const T>(p.q, p.qStrides, at.batchIndex, head);
  }
  DTC_DEVICE HeadView<const T> viewB(bool keys, int head) const {
    return keys ? HeadView<const T>(p.v, p.vStrides, at.batchIndex, head)
                : HeadView<const T>(p.dout, p.doutStrides, at.batchIndex, head);
  }

  // Returns lse in units of log 2; +inf, which makes every weight 0, for a query that sees no key.
  DTC_DEVICE float logSum(int head, int query) const {
    float value =
        query < p.queries ? p.lse[statisticsRow(p, at.batchIndex, head) + query] : -kInfinity;
    return value == -kInfinity ? kInfinity : value * kLog2E;
  }

  // Computes rowsum(dout * out), less dlse, of rows y + 16 i, and writes it to delta.
  DTC_DEVICE void rowDeltas() {
    HeadView<const T> out(p.out, p.outStrides, at.batchIndex, at.head);
    HeadView<const T> dout(p.dout, p.doutStrides, at.batchIndex, at.head);
    int64_t row = statisticsRow(p, at.batchIndex, at.head);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int query = at.first + threadY() + 16 * i;
      float sum = 0;
      if (query < p.queries)
        for (int d = threadX(); d < valueDim(p); d += 16)
          sum += widen(out.row(query)[d]) * widen(dout.row(query)[d]);
      deltas[i] = sumOver<16>(sum);
      if (p.dlse && query < p.queries)
        deltas[i] -= p.dlse[row + query];
      lse[i] = logSum(at.head, query);
      if (threadX() == 0 && query < p.queries)
        p.delta[row + query] = deltas[i];
    }
  }

  // Reads lse and delta of rows y + 16 i.
  DTC_DEVICE void readDeltas() {
    int64_t row = statisticsRow(p, at.batchIndex, at.head);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int query = at.first + threadY() + 16 * i;
      lse[i] = logSum(at.head, query);
      deltas[i] = query < p.queries ? p.delta[row + query] : 0;
    }
  }

  // Turns scores into P and products into dS; `ofCapped`: that of the capped scores.
  DTC_DEVICE void weigh(const Dropout<kDropout> &dropout, int head, int column,
                        float (&scores)[kRows][kColumns], float (&products)[kRows][kColumns],
                        bool ofCapped = false) {
    SampleMask mask(p, at.batchIndex);
    AddedScores added(p, at.batchIndex, head);
    float scale = p.scale * kLog2E;
    SoftCap softCap(p);
    int64_t row = statisticsRow(p, at.batchIndex, head);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      int columnIndex = column + threadX() + 16 * j;
      float columnLse = kKeyRows ? logSum(head, columnIndex) : 0;
      float columnDelta = kKeyRows && columnIndex < p.queries ? p.delta[row + columnIndex] : 0;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        int rowIndex = at.first + threadY() + 16 * i;
        int query = kKeyRows ? columnIndex : rowIndex, key = kKeyRows ? rowIndex : columnIndex;
        float score = p.softCap > 0 ? softCap.apply(scores[i][j]) : scores[i][j];
        bool seen = query < p.queries && mask.sees(p, query, key);
        float exponent = score * scale - (kKeyRows ? columnLse : lse[i]);
        if (added.isSome && seen)
          exponent += added.at(query, key);
        float weight = exp2Approximate(exponent);
        weight = seen ? weight : 0;
        float factor = dropout.factor(query, key);
        scores[i][j] = weight * factor;
        products[i][j] = weight * (products[i][j] * factor - (kKeyRows ? columnDelta : deltas[i]));
        if (p.softCap > 0 && !ofCapped)
          products[i][j] *= softCap.slope(score);
      }
    }
  }

  // Adds the terms of columns [column, column + kGeneralColumns), which are of head `head`.
  DTC_DEVICE void step(const Dropout<kDropout> &dropout, int head, int queryHead, int column) {
    HeadView<const T> a = viewA(!kKeyRows, head), b = viewB(!kKeyRows, head);
    int count = (kKeyRows ? p.queries : p.keys) - column;
    blockBarrier(); // the columns before have been used
    columnsA.fill(a.row(column), a.stride, count, p.headDim);
    columnsB.fill(b.row(column), b.stride, count, valueDim(p));
    blockBarrier();
    float scores[kRows][kColumns], products[kRows][kColumns];
    multiplyRows(scores, rowsA, columnsA);
    multiplyRows(products, rowsB, columnsB);
    weigh(dropout, queryHead, column, scores, products);
    store(gradients, products);
    if constexpr (kKeyRows)
      store(weights, scores);
    warpBarrier();
    sumsA.add(gradients, columnsA);
    if constexpr (kKeyRows)
      sumsB.add(weights, columnsB);
  }

  DTC_DEVICE void run() {
    int group = p.heads / p.kvHeads, count = (kKeyRows ? p.keys : p.queries) - at.first;
    HeadView<const T> a = viewA(kKeyRows, at.head), b = viewB(kKeyRows, at.head);
    rowsA.fill(a.row(at.first), a.stride, count, p.headDim);
    rowsB.fill(b.row(at.first), b.stride, count, valueDim(p));
    float ones[kRows], scales[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      ones[i] = 1, scales[i] = p.scale;
    if constexpr (kKeyRows) {
      SampleMask mask(p, at.batchIndex);
      int begin = mask.firstQuery(p, at.first) / kGeneralColumns * kGeneralColumns;
      int end = mask.endQuery(p, at.first, kBlockRows);
      for (int head = at.head * group; head < (at.head + 1) * group; ++head) {
        Dropout<kDropout> dropout(p, at.batchIndex, head);
        for (int query = begin; query < end; query += kGeneralColumns)
          step(dropout, head, head, query);
      }
      HeadView<T> dk(p.dk, p.dkStrides, at.batchIndex, at.head);
      HeadView<T> dv(p.dv, p.dvStrides, at.batchIndex, at.head);
      sumsA.write(dk.row(at.first), dk.stride, count, p.headDim, scales);
      sumsB.write(dv.row(at.first), dv.stride, count, valueDim(p), ones);
    } else {
      rowDeltas();
      SampleMask mask(p, at.batchIndex);
      int begin = mask.blockBegin(p, at.first) / kGeneralColumns * kGeneralColumns;
      int end = mask.blockEnd(p, least(p.queries, at.first + kBlockRows) - 1);
      Dropout<kDropout> dropout(p, at.batchIndex, at.head);
      for (int key = begin; key < end; key += kGeneralColumns)
        step(dropout, at.head / group, at.head, key);
      HeadView<T> dq(p.dq, p.dqStrides, at.batchIndex, at.head);
      sumsA.write(dq.row(at.first), dq.stride, count, p.headDim, scales);
    }
  }
};

// The gradient of bias: the sum of dS of the capped scores over all that share an element.
template <typename T, int D, bool kDropout> struct BiasGradient {
  using Queries = Gradient<T, D, false, kDropout>;
  static constexpr int kBlockRows = Queries::kBlockRows, kRows = Queries::kRows;
  static constexpr int kColumns = Queries::kColumns;

  const AttentionParams &p;
  bool sharesQueries, sharesKeys;
  int row, column, head, sample; // of bias
  float sums[kRows][kColumns] = {};

  DTC_DEVICE explicit BiasGradient(const AttentionParams &p)
      : p(p), sharesQueries(p.biasSizes[2] == 1), sharesKeys(p.biasSizes[3] == 1) {
    int unit = static_cast<int>(blockIndex());
    int columns = (p.biasSizes[3] + kGeneralColumns - 1) / kGeneralColumns;
    int rows = (p.biasSizes[2] + kBlockRows - 1) / kBlockRows;
    column = unit % columns * kGeneralColumns;
    row = unit / columns % rows * kBlockRows;
    head = unit / columns / rows % p.biasSizes[1];
    sample = unit / columns / rows / p.biasSizes[1];
  }

  // Adds the terms of queries [rowBlock.first, rowBlock.first + kBlockRows) of one head of one
  // sample.
  DTC_DEVICE void addRows(const RowBlock<kBlockRows> &rowBlock) {
    Queries of(p, rowBlock);
    SampleMask mask(p, rowBlock.batchIndex);
    int begin = mask.blockBegin(p, rowBlock.first);
    int first = sharesKeys ? begin / kGeneralColumns * kGeneralColumns : column;
    int seen = mask.blockEnd(p, least(p.queries, rowBlock.first + kBlockRows) - 1);
    int end = sharesKeys ? seen : least(seen, column + kGeneralColumns);
    if (first >= end || first + kGeneralColumns <= begin)
      return;
    int kvHead = rowBlock.head / (p.heads / p.kvHeads);
    HeadView<const T> q = of.viewA(false, rowBlock.head), dout = of.viewB(false, rowBlock.head),
                      k = of.viewA(true, kvHead), v = of.viewB(true, kvHead);
    Dropout<kDropout> dropout(p, rowBlock.batchIndex, rowBlock.head);
    blockBarrier(); // the rows before have been used
    of.rowsA.fill(q.row(rowBlock.first), q.stride, p.queries - rowBlock.first, p.headDim);
    of.rowsB.fill(dout.row(rowBlock.first), dout.stride, p.queries - rowBlock.first, valueDim(p));
    of.readDeltas();
    for (int key = first; key < end; key += kGeneralColumns) {
      blockBarrier(); // the keys before have been used
      of.columnsA.fill(k.row(key), k.stride, p.keys - key, p.headDim);
      of.columnsB.fill(v.row(key), v.stride, p.keys - key, valueDim(p));
      blockBarrier();
      float scores[kRows][kColumns], products[kRows][kColumns];
      multiplyRows(scores, of.rowsA, of.columnsA);
      multiplyRows(products, of.rowsB, of.columnsB);
      of.weigh(dropout, rowBlock.head, key, scores, products, /*ofCapped=*/true);
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int j = 0; j < kColumns; ++j)
          sums[i][j] += products[i][j];
    }
  }

  // Writes the sums, added over the queries and keys that share their bias.
  DTC_DEVICE void write() {
    Queries of(p, RowBlock<kBlockRows>(0, 0, 0));
    blockBarrier(); // the tiles have been used
    store(of.weights, sums);
    blockBarrier();
    int rows = sharesQueries ? 1 : least(kBlockRows, p.queries - row);
    int columns = sharesKeys ? 1 : least(kGeneralColumns, p.keys - column);
    int rowTerms = sharesQueries ? kBlockRows : 1, columnTerms = sharesKeys ? kGeneralColumns : 1;
    int64_t first = (static_cast<int64_t>(sample) * p.biasSizes[1] + head) * p.biasSizes[2] + row;
    for (int i = static_cast<int>(threadIndex()); i < rows * columns; i += kWideThreads) {
      float sum = 0;
      for (int r = 0; r < rowTerms; ++r)
        for (int c = 0; c < columnTerms; ++c)
          sum += *of.weights.at(i / columns + r, i % columns + c);
      p.dbias[(first + i / columns) * p.biasSizes[3] + column + i % columns] = sum;
    }
  }

  DTC_DEVICE void run() {
    bool perSample = p.biasSizes[0] > 1, perHead = p.biasSizes[1] > 1;
    int lastSample = perSample ? sample + 1 : p.batch, lastHead = perHead ? head + 1 : p.heads;
    int lastRow = sharesQueries ? p.queries : row + kBlockRows;
    for (int b = perSample ? sample : 0; b < lastSample; ++b)
      for (int h = perHead ? head : 0; h < lastHead; ++h)
        for (int first = row; first < lastRow; first += kBlockRows)
          addRows(RowBlock<kBlockRows>(first, h, b));
    write();
  }
};

} // namespace

#define DTC_GENERAL(suffix, T, D, dropout)                                                         \
  DTC_KERNEL(kWideThreads, 1)                                                                      \
  AttentionGeneral_forward_##suffix(const AttentionParams p) { Forward<T, D, dropout>(p).run(); }  \
  DTC_KERNEL(kWideThreads, 1)                                                                      \
  AttentionGeneral_queries_##suffix(const AttentionParams p) {                                     \
    Gradient<T, D, false, dropout>(p).run();                                                       \
  }                                                                                                \
  DTC_KERNEL(kWideThreads, 1)                                                                      \
  AttentionGeneral_keys_##suffix(const AttentionParams p) {                                        \
    Gradient<T, D, true, dropout>(p).run();                                                        \
  }                                                                                                \
  DTC_KERNEL(kWideThreads, 1)                                                                      \
  AttentionGeneral_bias_##suffix(const AttentionParams p) { BiasGradient<T, D, dropout>(p).run(); }
#define DTC_GENERALS(D)                                                                            \
  DTC_GENERAL(f32_##D, float, D, false)                                                            \
  DTC_GENERAL(f32_##D##_dropout, float, D, true)                                                   \
  DTC_GENERAL(bf16_##D, BFloat16, D, false)                                                        \
  DTC_GENERAL(bf16_##D##_dropout, BFloat16, D, true)                                               \
  DTC_GENERAL(f16_##D, Float16, D, false)                                                          \
  DTC_GENERAL(f16_##D##_dropout, Float16, D, true)
DTC_GENERALS(32)
DTC_GENERALS(64)
DTC_GENERALS(128)
DTC_GENERALS(256)

} // namespace dtc::cuda
