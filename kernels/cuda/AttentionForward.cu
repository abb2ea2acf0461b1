// Attention forward of 16-bit tensors by tensor cores: out = softmax(scale * q k^T + mask) v. Sinks
// are in the softmax's sum; kernels with dropout, which have no registers left, do not have them.
//
// Shapes: q, out [batch, queries, heads, headDim], k, v [batch, keys, kvHeads, headDim], any
// strides of whole 16 bytes; lse f32 [batch, heads, queries]; headDim a multiple of 8.
//
// Launch: one block of 4 warps per head and 64 or 128 queries, grid.x = blocks * heads * batch. The
// blocks of a head are consecutive, so that they share its keys in the L2 cache.
//
// Cost: 4 * queries * keys * headDim flops per head, half of it when causal; each block reads the
// keys and values that it sees once. Source: Dao 2023, arXiv:2307.08691, algorithm 1.
#include "kernels/cuda/AttentionMask.h"
#include "kernels/cuda/AttentionTiling.h"
#include "kernels/cuda/TensorCore.h"

namespace dtc::cuda {

namespace {

constexpr int kWarps = kNarrowThreads / 32;

// The running maximum of the scores, and this lane's part of the sum of weights, of rows g and g +
// 8.
struct RunningRow {
  float maximum = -kInfinity, sum = 0;
};

// Turns one warp's 16 rows of scores into weights relative to the new maxima; rescales the running
// sums. `scale`, in units of log 2, is positive, so that the largest score has the largest weight.
template <int kTiles, int kColumns>
DTC_DEVICE void softmaxRows(float scale, float (&scores)[kTiles][4], RunningRow (&rows)[2],
                            float (&sums)[kColumns / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    RunningRow &row = rows[half];
    float largest = row.maximum;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
      largest = maximum(largest, maximum(scores[n][2 * half], scores[n][2 * half + 1]));
    largest = maximumOver<4>(largest);
    // Subtracts 0 in a row of -inf alone, so that its weights are 0 instead of exp(-inf + inf).
    float subtract = largest == -kInfinity ? 0 : largest;
    float shrink = exp2Approximate((row.maximum - subtract) * scale);
    subtract *= scale;
    row.maximum = largest;
    row.sum *= shrink;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
      sums[n][2 * half] *= shrink, sums[n][2 * half + 1] *= shrink;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[n][i] = exp2Approximate(scores[n][i] * scale - subtract);
        row.sum += scores[n][i];
      }
  }
}

// The work of one warp on 16 of its rows.
template <typename T, int D, int kKeys, bool kDropout> struct RowTile {
  static constexpr int kTiles = kKeys / 8;
  float sums[D / 8][4] = {};
  RunningRow rows[2];

  // Sets scores to -inf for keys that a query does not see.
  DTC_DEVICE static void mask(const AttentionParams &p, float (&scores)[kTiles][4], int query,
                              int key) {
    int lane = static_cast<int>(threadIndex() % kWarp), g = lane / 4, t = lane % 4 * 2;
    if (allSeen(p, query, 16, key, kKeys))
      return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int begin = firstKey(p, query + g + 8 * half) - key - t;
      int end = endKey(p, query + g + 8 * half) - key - t;
#pragma unroll
      for (int n = 0; n < kTiles; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          if (8 * n + i < begin || 8 * n + i >= end)
            scores[n][2 * half + i] = -kInfinity;
    }
  }

  DTC_DEVICE static void drop(const Dropout<kDropout> &dropout, float (&scores)[kTiles][4],
                              int query, int key) {
    int lane = static_cast<int>(threadIndex() % kWarp), g = lane / 4, t = lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[n][i] *= dropout.factor(query + g + i / 2 * 8, key + 8 * n + t + i % 2);
  }

  // Writes lse of a head, and returns the factors of rows g and g + 8.
  DTC_DEVICE void finish(const AttentionParams &p, int head, float *lse, int query,
                         float (&factors)[2]) {
    int lane = static_cast<int>(threadIndex() % kWarp), g = lane / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sumOver<4>(rows[half].sum), kept = 1;
      if constexpr (!kDropout)
        kept = addSink(p, head, p.scale * kLog2E, rows[half].maximum, sum);
      factors[half] = sum == 0 ? 0 : kept / sum; // no key seen: 0, not 0/0
      int row = query + g + 8 * half;
      if (lane % 4 == 0 && row < p.queries)
        lse[row] =
            sum == 0 ? -kInfinity : rows[half].maximum * p.scale + log2Approximate(sum) * kLn2;
    }
  }
};

template <typename T, int D, bool kDropout> DTC_DEVICE void forward(const AttentionParams &p) {
  constexpr int kKeys = forwardKeys(D, kDropout), kRowTiles = forwardRowTiles(D, kDropout);
  constexpr int kQueries = 16 * kRowTiles * kWarps;
  using Queries = NarrowTile<kQueries, D>;
  using Keys = NarrowTile<kKeys, D>;
  static_assert(Queries::kBytes + 2 * Keys::kBytes == forwardSharedBytes(D, kDropout));
  Queries queryTile{dtcDynamicShared};
  Keys keyTile{dtcDynamicShared + Queries::kBytes};
  Keys valueTile{dtcDynamicShared + Queries::kBytes + Keys::kBytes};

  int blocks = (p.queries + kQueries - 1) / kQueries;
  int unit = static_cast<int>(blockIndex());
  int query = (blocks - 1 - unit % blocks) * kQueries; // longest rows first
  int head = unit / blocks % p.heads, batchIndex = unit / blocks / p.heads;
  int kvHead = head / (p.heads / p.kvHeads);
  auto q = static_cast<const char *>(p.q) + 2 * offsetOf(p.qStrides, batchIndex, query, head);
  auto k = static_cast<const char *>(p.k) + 2 * offsetOf(p.kStrides, batchIndex, 0, kvHead);
  auto v = static_cast<const char *>(p.v) + 2 * offsetOf(p.vStrides, batchIndex, 0, kvHead);
  auto fill = [&](const Keys &tile, const char *from, const HeadStrides &strides, int key) {
    tile.template fill<kNarrowThreads>(from + key * (2 * strides.token), 2 * strides.token,
                                       p.keys - key, p.headDim);
    commitCopies();
  };

  int firstRow = static_cast<int>(threadIndex() / kWarp) * 16 * kRowTiles;
  int begin = firstKey(p, query) / kKeys * kKeys;
  int end = endKey(p, least(p.queries, query + kQueries) - 1);
  Dropout<kDropout> dropout(p, batchIndex, head);
  RowTile<T, D, kKeys, kDropout> rowTiles[kRowTiles];
  queryTile.template fill<kNarrowThreads>(q, 2 * p.qStrides.token, p.queries - query, p.headDim);
  fill(keyTile, k, p.kStrides, begin);
  for (int key = begin; key < end; key += kKeys) {
    waitForCopies<0>();
    blockBarrier(); // keys are here, and the values before have been used
    fill(valueTile, v, p.vStrides, key);

    float scores[kRowTiles][kKeys / 8][4] = {};
#pragma unroll
    for (int d = 0; d < D; d += 16) {
      uint32_t left[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        queryTile.left(left[m], firstRow + 16 * m, d);
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        uint32_t right[4];
        keyTile.rightTransposed(right, 16 * n, d);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          multiply<T>(scores[m][2 * n], left[m], right[0], right[1]);
          multiply<T>(scores[m][2 * n + 1], left[m], right[2], right[3]);
        }
      }
    }
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      int row = query + firstRow + 16 * m;
      rowTiles[m].mask(p, scores[m], row, key);
      softmaxRows<kKeys / 8, D>(p.scale * kLog2E, scores[m], rowTiles[m].rows, rowTiles[m].sums);
      if constexpr (kDropout)
        rowTiles[m].drop(dropout, scores[m], row, key);
    }

    waitForCopies<0>();
    blockBarrier(); // values are here, and the keys have been used
    if (key + kKeys < end)
      fill(keyTile, k, p.kStrides, key + kKeys);
#pragma unroll
    for (int j = 0; j < kKeys / 16; ++j) {
      uint32_t left[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          left[m][i] = packPair<T>(scores[m][2 * j + i / 2][i % 2 * 2],
                                   scores[m][2 * j + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int n = 0; n < D / 16; ++n) {
        uint32_t right[4];
        valueTile.right(right, 16 * j, 16 * n);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          multiply<T>(rowTiles[m].sums[2 * n], left[m], right[0], right[1]);
          multiply<T>(rowTiles[m].sums[2 * n + 1], left[m], right[2], right[3]);
        }
      }
    }
  }

  // Writes results over the queries, since each warp has read only its own rows.
  waitForCopies<0>();
  if (begin >= end)
    blockBarrier();
  auto out = static_cast<char *>(p.out) + 2 * offsetOf(p.outStrides, batchIndex, query, head);
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
    int row = firstRow + 16 * m;
    float factors[2];
    rowTiles[m].finish(p, head, p.lse + statisticsRow(p, batchIndex, head), query + row, factors);
    warpBarrier();
    queryTile.template put<T>(row, rowTiles[m].sums, factors[0], factors[1]);
    warpBarrier();
    queryTile.drain(row, out + 2 * row * p.outStrides.token, 2 * p.outStrides.token,
                    p.queries - query - row, p.headDim);
  }
}

} // namespace

#define DTC_FORWARD(type, T, D)                                                                    \
  DTC_KERNEL(kNarrowThreads, kForwardBlocks)                                                       \
  AttentionForward_##type##_##D(const AttentionParams p) { forward<T, D, false>(p); }              \
  DTC_KERNEL(kNarrowThreads, kForwardBlocks)                                                       \
  AttentionForward_##type##_##D##_dropout(const AttentionParams p) { forward<T, D, true>(p); }
#define DTC_FORWARDS(D)                                                                            \
  DTC_FORWARD(bf16, BFloat16, D)                                                                   \
  DTC_FORWARD(f16, Float16, D)
DTC_FORWARDS(32)
DTC_FORWARDS(64)
DTC_FORWARDS(96)
DTC_FORWARDS(128)
DTC_FORWARDS(192)
DTC_FORWARDS(256)

} // namespace dtc::cuda
