// Gradients of attention of 16-bit tensors by tensor cores.
//
//   P = exp(scale * q k^T - lse)   dv += P^T dout   dP = dout v^T   dS = P * (dP - delta)
//   dq = scale * dS k              dk = scale * dS^T q              delta = rowsum(dout * out)
// With dropout, P counts as kept and scaled in dv, and dP in dS.
//
// One block sums every result in a fixed order: without atomics, the bits are the same in every
// run. So scores are computed twice, for dq and for dk and dv. One body does both: a block has 64
// or 128 `rows` that stay and steps over `columns`, both with two tensors, A and B:
//             rows A  rows B  columns A  columns B  sums A  sums B
//   queries   q       dout    k          v          dq      -
//   keys      k       v       q          dout       dk      dv
//
// Shapes: those of AttentionForward.cu; dq, dk, dv as q, k, v; delta f32 [batch, heads, queries].
//
// Launch: Queries first, which writes delta too, then Keys. For padded head dims above 128 Keys is
// two launches, KeysA for dk and KeysB for dv, whose sums would not fit in registers together. One
// block of 4 warps per 64 rows and head (of queries or keys), per 128 for padded head dims of 32
// and 64 without dropout: each column that a warp reads from shared memory is then used by 32 rows,
// since the bandwidth of shared memory is the limit otherwise.
//
// Cost: 14 * queries * keys * headDim flops per head (16 above 128), half of it when causal.
// Source: Dao 2023, arXiv:2307.08691, algorithm 2.
#include "kernels/cuda/AttentionMask.h"
#include "kernels/cuda/AttentionTiling.h"
#include "kernels/cuda/TensorCore.h"

namespace dtc::cuda {

namespace {

enum class Sums { Queries, Keys, KeysA, KeysB };

// The position of one block: rows [first, first + rows) of a head, or of a kv head and its group.
// Blocks of a head are consecutive, starting from its first rows or from its last.
struct RowBlock {
  int first, head, batchIndex;
  DTC_DEVICE RowBlock(int count, int heads, int rows, bool lastFirst) {
    int blocks = (count + rows - 1) / rows, unit = static_cast<int>(blockIndex());
    first = (lastFirst ? blocks - 1 - unit % blocks : unit % blocks) * rows;
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

// Computes rowsum(dout * out), less dlse, of this lane's rows g and g + 8, and writes it to delta.
template <typename T>
DTC_DEVICE void rowDeltas(const AttentionParams &p, const RowBlock &at, int row,
                          float (&deltas)[2]) {
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
    int64_t position = statisticsRow(p, at.batchIndex, at.head) + query;
    if (p.dlse && query < p.queries)
      deltas[half] -= p.dlse[position];
    if (lane % 4 == 0 && query < p.queries)
      p.delta[position] = deltas[half];
  }
}

// Returns lse in units of log 2; +inf, which makes every weight 0, for a query that sees no key
// with a weight.
DTC_DEVICE float logSum(const AttentionParams &p, int64_t statistics, int query) {
  float lse = query < p.queries ? p.lse[statistics + query] : -kInfinity;
  return lse == -kInfinity ? kInfinity : lse * kLog2E;
}

// Returns lse of a column in units of log 2, bounded from below. If no key has a weight, the keys
// that the query sees have scores of -inf, which give weights of 0 for any finite lse, and the
// others are masked.
DTC_DEVICE float finiteLogSum(float lse) { return maximum(lse, -1e38F) * kLog2E; }

template <typename T, int D, Sums kSums, bool kDropout> struct Gradient {
  static constexpr bool kKeyRows = kSums != Sums::Queries;
  static constexpr bool kSumA = kSums != Sums::KeysB;
  static constexpr bool kSumB = kSums == Sums::Keys || kSums == Sums::KeysB;
  static constexpr int kColumns = gradColumns(D), kTiles = kColumns / 8;
  static constexpr int kRows = gradRows(D, kDropout), kRowTiles = gradRowTiles(D, kDropout);
  using Rows = NarrowTile<kRows, D>;
  using Columns = NarrowTile<kColumns, D>;
  using Scores = float[kRowTiles][kTiles][4];

  const AttentionParams &p;
  RowBlock at;
  int group, begin, end; // heads that share the rows; columns of each head
  int firstHead;         // first head of the columns
  Rows rowsA, rowsB;
  char *stages;      // two, each of columns A and B
  float *statistics; // two stages of lse and delta of the columns, if these are queries
  // values of rows g and g + 8, if these are queries
  float lse[kRowTiles][2], deltas[kRowTiles][2];
  float sumsA[kRowTiles][kSumA ? D / 8 : 1][4] = {}, sumsB[kRowTiles][kSumB ? D / 8 : 1][4] = {};

  DTC_DEVICE explicit Gradient(const AttentionParams &p)
      : p(p), at(kKeyRows ? p.keys : p.queries, kKeyRows ? p.kvHeads : p.heads, kRows,
                 /*lastFirst=*/!kKeyRows), // rows with most columns first, if causal
        group(kKeyRows ? p.heads / p.kvHeads : 1),
        firstHead(kKeyRows ? at.head * group : at.head / (p.heads / p.kvHeads)) {
    rowsA.data = dtcDynamicShared;
    rowsB.data = rowsA.data + Rows::kBytes;
    stages = rowsB.data + Rows::kBytes;
    statistics = reinterpret_cast<float *>(stages + 4 * Columns::kBytes);
    static_assert(2 * Rows::kBytes + 4 * Columns::kBytes + 16 * kColumns ==
                  gradSharedBytes(D, kDropout));
    if (kKeyRows) {
      begin = firstQuery(p, at.first);
      end = endQuery(p, at.first, kRows);
    } else {
      begin = firstKey(p, at.first);
      end = endKey(p, least(p.queries, at.first + kRows) - 1);
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
  DTC_DEVICE int queryHead(int member) const { return kKeyRows ? firstHead + member : at.head; }

  DTC_DEVICE void fillRows() const {
    int count = (kKeyRows ? p.keys : p.queries) - at.first;
    HeadView a = viewA(kKeyRows, at.head), b = viewB(kKeyRows, at.head);
    rowsA.template fill<kNarrowThreads>(a.row(at.first), a.rowBytes, count, p.headDim);
    if (kSumA)
      rowsB.template fill<kNarrowThreads>(b.row(at.first), b.rowBytes, count, p.headDim);
    commitCopies();
  }

  DTC_DEVICE void fillColumns(int stage, int member, int column) const {
    int head = firstHead + member;
    int count = (kKeyRows ? p.queries : p.keys) - column;
    HeadView a = viewA(!kKeyRows, head), b = viewB(!kKeyRows, head);
    columns(stage, 0).template fill<kNarrowThreads>(a.row(column), a.rowBytes, count, p.headDim);
    columns(stage, 1).template fill<kNarrowThreads>(b.row(column), b.rowBytes, count, p.headDim);
    if (kKeyRows)
      fillStatistics(stage, head, column);
    commitCopies();
  }

  // Copies lse with one warp and delta with the next; neither waits for its copy.
  DTC_DEVICE void fillStatistics(int stage, int head, int column) const {
    static_assert(kColumns <= static_cast<int>(kWarp) && kNarrowThreads >= 2 * kWarp);
    int i = static_cast<int>(threadIndex() % kWarp),
        which = static_cast<int>(threadIndex() / kWarp);
    if (which >= (kSumA ? 2 : 1) || i >= kColumns)
      return;
    bool there = column + i < p.queries;
    const float *from = (which == 0 ? p.lse : p.delta) + statisticsRow(p, at.batchIndex, head) +
                        (there ? column + i : 0);
    copyNumberLater(statistics + (2 * stage + which) * kColumns + i, from, there);
  }

  // Computes scores[16 * kRowTiles, kColumns] = rows from `row` on * columns^T.
  DTC_DEVICE static void product(Scores &scores, const Rows &rows, int row,
                                 const Columns &columns) {
#pragma unroll
    for (int d = 0; d < D; d += 16) {
      uint32_t left[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        rows.left(left[m], row + 16 * m, d);
#pragma unroll
      for (int n = 0; n < kTiles / 2; ++n) {
        uint32_t right[4];
        columns.rightTransposed(right, 16 * n, d);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          multiply<T>(scores[m][2 * n], left[m], right[0], right[1]);
          multiply<T>(scores[m][2 * n + 1], left[m], right[2], right[3]);
        }
      }
    }
  }

  // The columns that a row sees.
  struct Seen {
    int begin, end;
    DTC_DEVICE bool has(int column) const { return (column >= begin) & (column < end); }
  };
  DTC_DEVICE Seen seenBy(int row) const {
    return kKeyRows ? Seen{firstQuery(p, row), endQuery(p, row, 1)}
                    : Seen{firstKey(p, row), endKey(p, row)};
  }

  // Turns scores into P and products into dS for a warp's rows.
  template <bool kAllSeen>
  DTC_DEVICE void weigh(const Dropout<kDropout> &dropout, int stage, int row, int column,
                        Scores &scores, Scores &products) const {
    int lane = static_cast<int>(threadIndex() % kWarp);
    int firstRow = at.first + row + lane / 4, firstColumn = column + lane % 4 * 2;
    float scale = p.scale * kLog2E;
    const float *ofStage = statistics + 2 * kColumns * stage + lane % 4 * 2;
    Seen seen[kRowTiles][2];
    if (!kAllSeen)
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        seen[m][0] = seenBy(firstRow + 16 * m), seen[m][1] = seenBy(firstRow + 16 * m + 8);
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        int ofColumn = firstColumn + 8 * n + i;
        float columnLse = 0, columnDelta = 0;
        if (kKeyRows)
          columnLse = finiteLogSum(ofStage[8 * n + i]);
        if (kKeyRows && kSumA)
          columnDelta = ofStage[kColumns + 8 * n + i];
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            int ofRow = firstRow + 16 * m + 8 * half, j = 2 * half + i;
            float rowLse = kKeyRows ? columnLse : lse[m][half];
            float weight = exp2Approximate(scores[m][n][j] * scale - rowLse);
            if (!kAllSeen)
              weight = seen[m][half].has(ofColumn) ? weight : 0;
            float factor = dropout.factor(kKeyRows ? ofColumn : ofRow, kKeyRows ? ofRow : ofColumn);
            scores[m][n][j] = weight * factor;
            if (kSumA)
              products[m][n][j] = weight * (products[m][n][j] * factor -
                                            (kKeyRows ? columnDelta : deltas[m][half]));
          }
      }
  }

  // Chooses the version with masks only for the few steps at the edge of the seen columns.
  DTC_DEVICE void weighAll(int member, int stage, int row, int column, Scores &scores,
                           Scores &products) const {
    Dropout<kDropout> dropout(p, at.batchIndex, queryHead(member));
    int first = at.first + row;
    if (kKeyRows ? allSeen(p, column, kColumns, first, 16 * kRowTiles)
                 : allSeen(p, first, 16 * kRowTiles, column, kColumns))
      weigh<true>(dropout, stage, row, column, scores, products);
    else
      weigh<false>(dropout, stage, row, column, scores, products);
  }

  DTC_DEVICE void run() {
    int row = static_cast<int>(threadIndex() / kWarp) * 16 * kRowTiles;
    int members = begin < end ? group : 0;
    fillRows();
    if (members > 0)
      fillColumns(0, 0, begin);
    if constexpr (!kKeyRows) {
      int lane = static_cast<int>(threadIndex() % kWarp);
      int64_t statisticsOfHead = statisticsRow(p, at.batchIndex, at.head);
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        int query = row + 16 * m;
        rowDeltas<T>(p, at, query, deltas[m]);
        lse[m][0] = logSum(p, statisticsOfHead, at.first + query + lane / 4);
        lse[m][1] = logSum(p, statisticsOfHead, at.first + query + lane / 4 + 8);
      }
    }
    for (int stage = 0, member = 0, column = begin; member < members; stage = 1 - stage) {
      waitForCopies<0>();
      blockBarrier(); // this step's columns are here, those of the last have been used
      int nextColumn = column + kColumns, nextMember = member;
      if (nextColumn >= end)
        nextColumn = begin, ++nextMember;
      if (nextMember < members)
        fillColumns(1 - stage, nextMember, nextColumn);
      Scores scores = {}, products = {};
      product(scores, rowsA, row, columns(stage, 0));
      if constexpr (kSumA)
        product(products, rowsB, row, columns(stage, 1));
      weighAll(member, stage, row, column, scores, products);
      if constexpr (kSumB)
        multiplyWeights<T, D, kColumns>(sumsB, scores, columns(stage, 1));
      warpBarrier(); // keeps ptxas from reading columns so early that it runs out of registers
      if constexpr (kSumA)
        multiplyWeights<T, D, kColumns>(sumsA, products, columns(stage, 0));
      member = nextMember, column = nextColumn;
    }
    finish(row);
  }

  // Writes results over the rows, since each warp has read only its own rows.
  DTC_DEVICE void finish(int row) {
    waitForCopies<0>();
    blockBarrier(); // zeros and copies of the rows, where there was no step
    int count = (kKeyRows ? p.keys : p.queries) - at.first;
    auto write = [&](const Rows &through, const auto &sums, float scale, void *tensor,
                     const HeadStrides &strides) {
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        through.template put<T>(row + 16 * m, sums[m], scale, scale);
      warpBarrier();
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
        int first = row + 16 * m;
        through.drain(first,
                      static_cast<char *>(tensor) +
                          2 * offsetOf(strides, at.batchIndex, at.first + first, at.head),
                      2 * strides.token, count - first, p.headDim);
      }
    };
    if constexpr (kSumA)
      write(rowsA, sumsA, p.scale, kKeyRows ? p.dk : p.dq, kKeyRows ? p.dkStrides : p.dqStrides);
    if constexpr (kSumB)
      write(rowsB, sumsB, 1, p.dv, p.dvStrides);
  }
};

} // namespace

#define DTC_GRADIENT(name, type, T, D, sums)                                                       \
  DTC_KERNEL(kNarrowThreads, gradBlocks(D, false))                                                 \
  AttentionBackward_##name##_##type##_##D(const AttentionParams p) {                               \
    Gradient<T, D, Sums::sums, false>(p).run();                                                    \
  }                                                                                                \
  DTC_KERNEL(kNarrowThreads, gradBlocks(D, true))                                                  \
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
