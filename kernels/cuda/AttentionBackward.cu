// Gradients of attention of 16-bit tensors by tensor cores.
//
//   P = exp(scale * q k^T - lse)   dv += P^T dout   dP = dout v^T   dS = P * (dP - delta)
//   dq = scale * dS k              dk = scale * dS^T q              delta = rowsum(dout * out)
// With dropout, P counts as kept and scaled in dv, and dP in dS.
//
// Every result has one block that sums it in a fixed order: no atomics, the same bits every run. So
// scores are computed twice, for dq and for dk and dv. One body does both: a block has 64 `rows`
// that stay and steps over `columns`, both with two tensors, A and B:
//             rows A  rows B  columns A  columns B  sums A  sums B
//   queries   q       dout    k          v          dq      -
//   keys      k       v       q          dout       dk      dv
// Shapes  as AttentionForward.cu's; dq, dk, dv as q, k, v; delta f32 [batch, heads, queries].
// Launch  Queries first, which writes delta too, then Keys; for padded head dims above 128 Keys is
//         two launches, KeysA for dk and KeysB for dv, whose sums would not fit in registers together.
//         One block of 4 warps per 64 rows and head (of queries or keys).
// Cost    14 * queries * keys * headDim flops per head (16 above 128), half of it when causal.
// Source  Dao 2023, arXiv:2307.08691, algorithm 2.
#include "kernels/cuda/AttentionMask.h"
#include "kernels/cuda/AttentionTiling.h"
#include "kernels/cuda/TensorCore.h"

namespace dtc::cuda {

namespace {

enum class Sums { Queries, Keys, KeysA, KeysB };

// One block's place: rows [first, first + kGradRows) of a head, or of a kv head and its group.
struct Place {
  int first, head, batchIndex;
  DTC_DEVICE Place(int count, int heads) {
    int blocks = (count + kGradRows - 1) / kGradRows, unit = static_cast<int>(blockIndex());
    first = unit % blocks * kGradRows;
    head = unit / blocks % heads;
    batchIndex = unit / blocks / heads;
  }
};

// A tensor [tokens, headDim] of one head.
struct HeadView {
  const char *data;
  int64_t rowBytes;
  DTC_DEVICE HeadView(const void *tensor, const HeadStrides &strides, int batchIndex, int head)
      : data(static_cast<const char *>(tensor) + 2 * offsetOf(strides, batchIndex, 0, head)),
        rowBytes(2 * strides.token) {}
  DTC_DEVICE const char *row(int token) const { return data + token * rowBytes; }
};

// rowsum(dout * out) of this lane's rows g and g + 8, written to delta.
template <typename T>
DTC_DEVICE void rowDeltas(const AttentionParams &p, const Place &at, int row, float (&deltas)[2]) {
  int lane = static_cast<int>(threadIndex() % kWarp), g = lane / 4, t = lane % 4 * 8;
  HeadView out(p.out, p.outStrides, at.batchIndex, at.head);
  HeadView dout(p.dout, p.doutStrides, at.batchIndex, at.head);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int query = at.first + row + g + 8 * half;
    float sum = 0;
    if (query < p.queries)
      for (int d = t; d < p.headDim; d += 32) {
        Bytes16 a = *reinterpret_cast<const Bytes16 *>(out.row(query) + 2 * d);
        Bytes16 b = *reinterpret_cast<const Bytes16 *>(dout.row(query) + 2 * d);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float a0, a1, b0, b1;
          unpackPair<T>(a[i], a0, a1);
          unpackPair<T>(b[i], b0, b1);
          sum += a0 * b0 + a1 * b1;
        }
      }
    deltas[half] = sumOver<4>(sum);
    if (lane % 4 == 0 && query < p.queries)
      p.delta[statisticsRow(p, at.batchIndex, at.head) + query] = deltas[half];
  }
}

// In units of log 2; +inf, which makes every weight 0, for a query that sees no key.
DTC_DEVICE float logSum(const AttentionParams &p, int64_t statistics, int query) {
  float lse = query < p.queries ? p.lse[statistics + query] : -kInfinity;
  return lse == -kInfinity ? kInfinity : lse * kLog2E;
}

template <typename T, int D, Sums kSums, bool kDropout> struct Gradient {
  static constexpr bool kKeyRows = kSums != Sums::Queries;
  static constexpr bool kSumA = kSums != Sums::KeysB;
  static constexpr bool kSumB = kSums == Sums::Keys || kSums == Sums::KeysB;
  static constexpr int kColumns = gradColumns(D), kTiles = kColumns / 8;
  using Rows = NarrowTile<kGradRows, D>;
  using Columns = NarrowTile<kColumns, D>;

  const AttentionParams &p;
  Place at;
  int group, begin, end; // columns of each head; heads that share the rows
  Rows rowsA, rowsB;
  char *stages;            // two, each of columns A and B
  float *statistics;       // two stages of lse and delta of the columns, where these are queries
  float lse[2], deltas[2]; // of rows g and g + 8, where these are queries
  float sumsA[kSumA ? D / 8 : 1][4] = {}, sumsB[kSumB ? D / 8 : 1][4] = {};

  DTC_DEVICE explicit Gradient(const AttentionParams &p)
      : p(p), at(kKeyRows ? p.keys : p.queries, kKeyRows ? p.kvHeads : p.heads),
        group(kKeyRows ? p.heads / p.kvHeads : 1) {
    rowsA.data = dtcDynamicShared;
    rowsB.data = rowsA.data + Rows::kBytes;
    stages = rowsB.data + Rows::kBytes;
    statistics = reinterpret_cast<float *>(stages + 4 * Columns::kBytes);
    static_assert(2 * Rows::kBytes + 4 * Columns::kBytes + 16 * kColumns == gradSharedBytes(D));
    if (kKeyRows) {
      begin = firstQuery(p, at.first);
      end = endQuery(p, at.first, kGradRows);
    } else {
      begin = firstKey(p, at.first);
      end = endKey(p, least(p.queries, at.first + kGradRows) - 1);
    }
    begin = begin / kColumns * kColumns;
  }

  DTC_DEVICE HeadView viewA(bool keys, int head) const {
    return keys ? HeadView(p.k, p.kStrides, at.batchIndex, head)
                : HeadView(p.q, p.qStrides, at.batchIndex, head);
  }
  DTC_DEVICE HeadView viewB(bool keys, int head) const {
    return keys ? HeadView(p.v, p.vStrides, at.batchIndex, head)
                : HeadView(p.dout, p.doutStrides, at.batchIndex, head);
  }

  DTC_DEVICE Columns columns(int stage, int tensor) const {
    return {stages + (2 * stage + tensor) * Columns::kBytes};
  }
  DTC_DEVICE int queryHead(int member) const {
    return kKeyRows ? at.head * group + member : at.head;
  }

  DTC_DEVICE void fillRows() const {
    int count = (kKeyRows ? p.keys : p.queries) - at.first;
    HeadView a = viewA(kKeyRows, at.head), b = viewB(kKeyRows, at.head);
    rowsA.template fill<kNarrowThreads>(a.row(at.first), a.rowBytes, count, p.headDim);
    if (kSumA)
      rowsB.template fill<kNarrowThreads>(b.row(at.first), b.rowBytes, count, p.headDim);
  }

  DTC_DEVICE void fillColumns(int stage, int member, int column) const {
    int head = kKeyRows ? queryHead(member) : at.head / (p.heads / p.kvHeads);
    int count = (kKeyRows ? p.queries : p.keys) - column;
    HeadView a = viewA(!kKeyRows, head), b = viewB(!kKeyRows, head);
    columns(stage, 0).template fill<kNarrowThreads>(a.row(column), a.rowBytes, count, p.headDim);
    columns(stage, 1).template fill<kNarrowThreads>(b.row(column), b.rowBytes, count, p.headDim);
    commitCopies();
    int i = static_cast<int>(threadIndex());
    if (kKeyRows && i < kColumns) {
      int64_t row = statisticsRow(p, at.batchIndex, head);
      float *to = statistics + 2 * kColumns * stage;
      to[i] = logSum(p, row, column + i);
      if (kSumA)
        to[kColumns + i] = column + i < p.queries ? p.delta[row + column + i] : 0;
    }
  }

  // scores[16, kColumns] = rows [row, row + 16) * columns^T.
  DTC_DEVICE static void product(float (&scores)[kTiles][4], const Rows &rows, int row,
                                 const Columns &columns) {
#pragma unroll
    for (int d = 0; d < D; d += 16) {
      uint32_t left[4];
      rows.left(left, row, d);
#pragma unroll
      for (int n = 0; n < kTiles / 2; ++n) {
        uint32_t right[4];
        columns.rightTransposed(right, 16 * n, d);
        multiply<T>(scores[2 * n], left, right[0], right[1]);
        multiply<T>(scores[2 * n + 1], left, right[2], right[3]);
      }
    }
  }

  // Scores become P, products become dS.
  DTC_DEVICE void weigh(const Dropout<kDropout> &dropout, int stage, int row, int column,
                        float (&scores)[kTiles][4], float (&products)[kTiles][4]) const {
    int lane = static_cast<int>(threadIndex() % kWarp), g = lane / 4, t = lane % 4 * 2;
    float scale = p.scale * kLog2E;
    int firstRow = at.first + row;
    bool all = kKeyRows ? allSeen(p, column, kColumns, firstRow, 16)
                        : allSeen(p, firstRow, 16, column, kColumns);
    const float *ofStage = statistics + 2 * kColumns * stage;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int rowIndex = firstRow + g + i / 2 * 8, columnIndex = 8 * n + t + i % 2;
        int query = kKeyRows ? column + columnIndex : rowIndex;
        int key = kKeyRows ? rowIndex : column + columnIndex;
        float weight =
            exp2Approximate(scores[n][i] * scale - (kKeyRows ? ofStage[columnIndex] : lse[i / 2]));
        if (!all && !sees(p, query, key))
          weight = 0;
        float factor = dropout.factor(query, key);
        scores[n][i] = weight * factor;
        if (kSumA)
          products[n][i] = weight * (products[n][i] * factor -
                                     (kKeyRows ? ofStage[kColumns + columnIndex] : deltas[i / 2]));
      }
  }

  DTC_DEVICE void run() {
    int row = static_cast<int>(threadIndex() / kWarp) * 16;
    int perHead = (greatest(end, begin) - begin + kColumns - 1) / kColumns, steps = perHead * group;
    fillRows();
    if (steps > 0)
      fillColumns(0, 0, begin);
    if constexpr (!kKeyRows) {
      int lane = static_cast<int>(threadIndex() % kWarp);
      int64_t statisticsOfHead = statisticsRow(p, at.batchIndex, at.head);
      rowDeltas<T>(p, at, row, deltas);
      lse[0] = logSum(p, statisticsOfHead, at.first + row + lane / 4);
      lse[1] = logSum(p, statisticsOfHead, at.first + row + lane / 4 + 8);
    }
    for (int step = 0, member = 0, column = begin; step < steps; ++step) {
      int stage = step % 2;
      waitForCopies<0>();
      blockBarrier(); // this step's columns are here, those of the last have been used
      int nextColumn = column + kColumns, nextMember = member;
      if (nextColumn >= end)
        nextColumn = begin, ++nextMember;
      if (step + 1 < steps)
        fillColumns(1 - stage, nextMember, nextColumn);
      Dropout<kDropout> dropout(p, at.batchIndex, queryHead(member));
      float scores[kTiles][4] = {}, products[kTiles][4] = {};
      product(scores, rowsA, row, columns(stage, 0));
      if constexpr (kSumA)
        product(products, rowsB, row, columns(stage, 1));
      weigh(dropout, stage, row, column, scores, products);
      if constexpr (kSumB)
        multiplyWeights<T, D, kColumns>(sumsB, scores, columns(stage, 1));
      if constexpr (kSumA)
        multiplyWeights<T, D, kColumns>(sumsA, products, columns(stage, 0));
      member = nextMember, column = nextColumn;
    }
    finish(row);
  }

  // Each warp has read its own rows alone, which now take its results.
  DTC_DEVICE void finish(int row) {
    waitForCopies<0>();
    blockBarrier(); // zeros and copies of the rows, where there was no step
    int count = (kKeyRows ? p.keys : p.queries) - at.first - row;
    auto write = [&](const Rows &through, const auto &sums, float scale, void *tensor,
                     const HeadStrides &strides) {
      through.template put<T>(row, sums, scale, scale);
      warpBarrier();
      through.drain(row,
                    static_cast<char *>(tensor) +
                        2 * offsetOf(strides, at.batchIndex, at.first + row, at.head),
                    2 * strides.token, count, p.headDim);
    };
    if constexpr (kSumA)
      write(rowsA, sumsA, p.scale, kKeyRows ? p.dk : p.dq, kKeyRows ? p.dkStrides : p.dqStrides);
    if constexpr (kSumB)
      write(rowsB, sumsB, 1, p.dv, p.dvStrides);
  }
};

} // namespace

#define DTC_GRADIENT(name, type, T, D, sums)                                                       \
  DTC_KERNEL(kNarrowThreads, gradBlocks(D))                                                        \
  AttentionBackward_##name##_##type##_##D(const AttentionParams p) {                               \
    Gradient<T, D, Sums::sums, false>(p).run();                                                    \
  }                                                                                                \
  DTC_KERNEL(kNarrowThreads, gradBlocks(D))                                                        \
  AttentionBackward_##name##_##type##_##D##_dropout(const AttentionParams p) {                     \
    Gradient<T, D, Sums::sums, true>(p).run();                                                     \
  }
#define DTC_GRADIENTS(name, D, sums)                                                               \
  DTC_GRADIENT(name, bf16, BFloat16, D, sums)                                                      \
  DTC_GRADIENT(name, f16, Float16, D, sums)
#define DTC_WHOLE(D) DTC_GRADIENTS(queries, D, Queries) DTC_GRADIENTS(keys, D, Keys)
#define DTC_HALVES(D)                                                                              \
  DTC_GRADIENTS(queries, D, Queries)                                                               \
  DTC_GRADIENTS(keysA, D, KeysA)                                                                   \
  DTC_GRADIENTS(keysB, D, KeysB)
DTC_WHOLE(32)
DTC_WHOLE(64)
DTC_WHOLE(96)
DTC_WHOLE(128)
DTC_HALVES(192)
DTC_HALVES(256)

} // namespace dtc::cuda
