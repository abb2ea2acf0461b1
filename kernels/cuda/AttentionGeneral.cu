// Attention forward and its gradients for tensors of any type, head dim up to 256 and strides, by
// plain f32 FMAs: for f32 programs, and 16-bit ones whose rows are not whole 16 bytes.
//
// Formulas and shapes are those of AttentionForward.cu and AttentionBackward.cu. With a soft cap c
// of scores, P is that of the capped scores t = c tanh(s / c), and dS is multiplied by
// 1 - (t / c)^2; only these kernels have that.
//
// Launch: blocks of 16 x 16 threads, one per 64 queries (32 for padded head dims above 128) and
// head. Gradients: Queries, which writes delta too, then Keys, one block per 64 (32) keys and kv
// head.
//
// Cost: 4 (forward) and 14 (gradients) * queries * keys * headDim flops per head, half of it when
// causal.
#include "kernels/cuda/AttentionMask.h"
#include "kernels/cuda/GeneralTile.h"

namespace dtc::cuda {

namespace {

// The position of one block: rows [first, first + rows) of a head.
template <int rows> struct Place {
  int first, head, batchIndex;
  DTC_DEVICE Place(int count, int heads) {
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
  Place<kBlockRows> at;
  float largest[kRows], sum[kRows]; // values of rows y + 16 i; for the sum this thread's part
  GeneralSums<kRows, D> sums;

  DTC_DEVICE explicit Forward(const AttentionParams &p) : p(p), at(p.queries, p.heads) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      largest[i] = -kInfinity, sum[i] = 0;
  }

  DTC_DEVICE void softmax(const Dropout<kDropout> &dropout, int key,
                          float (&scores)[kRows][kColumns]) {
    float scale = p.scale * kLog2E;
    SoftCap softCap(p);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int query = at.first + threadY() + 16 * i;
      float now = largest[i];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        bool seen = sees(p, query, key + threadX() + 16 * j);
        if (p.softCap > 0)
          scores[i][j] = softCap.apply(scores[i][j]);
        scores[i][j] = seen ? scores[i][j] * scale : -kInfinity;
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
    int begin = firstKey(p, at.first) / kGeneralColumns * kGeneralColumns;
    int end = endKey(p, least(p.queries, at.first + kBlockRows) - 1);
    Dropout<kDropout> dropout(p, at.batchIndex, at.head);
    for (int key = begin; key < end; key += kGeneralColumns) {
      blockBarrier(); // the keys and values before have been used
      keys.fill(k.row(key), k.stride, p.keys - key, p.headDim);
      values.fill(v.row(key), v.stride, p.keys - key, p.headDim);
      blockBarrier();
      float scores[kRows][kColumns];
      multiplyRows(scores, queries, keys);
      softmax(dropout, key, scores);
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
      factors[i] = total == 0 ? 0 : 1 / total; // no key seen: 0, not 0/0
      int query = at.first + threadY() + 16 * i;
      if (threadX() == 0 && query < p.queries)
        lse[query] = total == 0 ? -kInfinity : (largest[i] + log2Approximate(total)) * kLn2;
    }
    HeadView<T> out(p.out, p.outStrides, at.batchIndex, at.head);
    sums.write(out.row(at.first), out.stride, p.queries - at.first, p.headDim, factors);
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
  Place<kBlockRows> at;
  Rows rowsA, rowsB;
  Columns columnsA, columnsB;
  Weights weights, gradients;
  float lse[kRows], deltas[kRows]; // used if rows are queries
  GeneralSums<kRows, D> sumsA, sumsB;

  DTC_DEVICE explicit Gradient(const AttentionParams &p)
      : p(p), at(kKeyRows ? p.keys : p.queries, kKeyRows ? p.kvHeads : p.heads) {
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
        for (int d = threadX(); d < p.headDim; d += 16)
          sum += widen(out.row(query)[d]) * widen(dout.row(query)[d]);
      deltas[i] = sumOver<16>(sum);
      if (p.dlse && query < p.queries)
        deltas[i] -= p.dlse[row + query];
      lse[i] = logSum(at.head, query);
      if (threadX() == 0 && query < p.queries)
        p.delta[row + query] = deltas[i];
    }
  }

  // Turns scores into P and products into dS.
  DTC_DEVICE void weigh(const Dropout<kDropout> &dropout, int head, int column,
                        float (&scores)[kRows][kColumns], float (&products)[kRows][kColumns]) {
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
        float weight = exp2Approximate(score * scale - (kKeyRows ? columnLse : lse[i]));
        weight = sees(p, query, key) ? weight : 0;
        float factor = dropout.factor(query, key);
        scores[i][j] = weight * factor;
        products[i][j] = weight * (products[i][j] * factor - (kKeyRows ? columnDelta : deltas[i]));
        if (p.softCap > 0)
          products[i][j] *= softCap.slope(score);
      }
    }
  }

  DTC_DEVICE void step(const Dropout<kDropout> &dropout, int head, int column) {
    HeadView<const T> a = viewA(!kKeyRows, head), b = viewB(!kKeyRows, head);
    int count = (kKeyRows ? p.queries : p.keys) - column;
    blockBarrier(); // the columns before have been used
    columnsA.fill(a.row(column), a.stride, count, p.headDim);
    columnsB.fill(b.row(column), b.stride, count, p.headDim);
    blockBarrier();
    float scores[kRows][kColumns], products[kRows][kColumns];
    multiplyRows(scores, rowsA, columnsA);
    multiplyRows(products, rowsB, columnsB);
    weigh(dropout, head, column, scores, products);
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
    rowsB.fill(b.row(at.first), b.stride, count, p.headDim);
    float ones[kRows], scales[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      ones[i] = 1, scales[i] = p.scale;
    if constexpr (kKeyRows) {
      int begin = firstQuery(p, at.first) / kGeneralColumns * kGeneralColumns;
      int end = endQuery(p, at.first, kBlockRows);
      for (int head = at.head * group; head < (at.head + 1) * group; ++head) {
        Dropout<kDropout> dropout(p, at.batchIndex, head);
        for (int query = begin; query < end; query += kGeneralColumns)
          step(dropout, head, query);
      }
      HeadView<T> dk(p.dk, p.dkStrides, at.batchIndex, at.head);
      HeadView<T> dv(p.dv, p.dvStrides, at.batchIndex, at.head);
      sumsA.write(dk.row(at.first), dk.stride, count, p.headDim, scales);
      sumsB.write(dv.row(at.first), dv.stride, count, p.headDim, ones);
    } else {
      rowDeltas();
      int begin = firstKey(p, at.first) / kGeneralColumns * kGeneralColumns;
      int end = endKey(p, least(p.queries, at.first + kBlockRows) - 1);
      Dropout<kDropout> dropout(p, at.batchIndex, at.head);
      for (int key = begin; key < end; key += kGeneralColumns)
        step(dropout, at.head / group, key);
      HeadView<T> dq(p.dq, p.dqStrides, at.batchIndex, at.head);
      sumsA.write(dq.row(at.first), dq.stride, count, p.headDim, scales);
    }
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
  }
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
