// Gradient of an embedding: grad[ids[t] - firstRow, :] += dout[t, :] in order of t, except for the
// skipped row; bitwise the same as on CPUs, without atomics on f32.
//
// Shapes: dout [tokens, columns] of any type, ids int32 [tokens], grad f32 [rows, columns].
//
// Launch: a block of 8 warps owns rowsPerBlock rows. It reads all ids, which stay in the L2 cache,
// lists the tokens of its rows in order, sorts the list by row, and each warp sums columns of a
// row: 4 per lane if 4 divides the columns, else one.
//
// Cost: 2 or 4 bytes of dout and 8 of grad (4 if it is not added to) per element, plus 4 bytes per
// id and block from the L2 cache. Bandwidth-bound if rows are used equally; the most frequent row,
// used by n tokens, takes n loads one after another.
#include "kernels/cuda/Device.h"
#include "kernels/cuda/EmbeddingParams.h"
#include "kernels/cuda/EmbeddingTiling.h"

namespace dtc::cuda {

namespace {

constexpr int kWarps = kEmbeddingGradThreads / 32;

struct Workspace {
  int32_t tokens[kEmbeddingList]; // in order, with the row of each
  int16_t rows[kEmbeddingList];
  int32_t sorted[kEmbeddingList];        // tokens by row, in order within each
  int32_t counts[kEmbeddingMaxRows];     // tokens of a row
  int32_t firsts[kEmbeddingMaxRows + 1]; // begin of each row in `sorted`
  int32_t warpTotals[kWarps];
};

// Returns the sum of the values of the threads before this one; `total` gets the sum of all.
DTC_DEVICE int sumBefore(Workspace &w, int value, int &total) {
  int lane = static_cast<int>(threadIndex() % kWarp),
      warp = static_cast<int>(threadIndex() / kWarp);
  int sum = value;
#pragma unroll
  for (int i = 1; i < 32; i *= 2)
    if (int below = shuffleUp(sum, i); lane >= i)
      sum += below;
  if (lane == 31)
    w.warpTotals[warp] = sum;
  blockBarrier();
  int before = sum - value;
  total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    before += i < warp ? w.warpTotals[i] : 0;
    total += w.warpTotals[i];
  }
  blockBarrier(); // warpTotals may be written again
  return before;
}

template <typename T, int kColumns> struct RowSum {
  struct alignas(kColumns * sizeof(T)) Source {
    T values[kColumns];
  };
  struct alignas(kColumns * sizeof(float)) Target {
    float values[kColumns];
  };

  // Adds `count` tokens to columns [column, column + kColumns) of a row.
  DTC_DEVICE static void add(const EmbeddingGradParams &p, const int32_t *tokens, int count,
                             int64_t row, int64_t column, bool fresh) {
    auto to = reinterpret_cast<Target *>(p.grad + row * p.columns + column);
    auto from = static_cast<const T *>(p.dout) + column;
    Target sum = {};
    if (!fresh)
      sum = *to;
    // Number of loads in flight together; the order of the sum is unchanged.
    constexpr int kTogether = 8;
    for (int first = 0; first < count; first += kTogether) {
      Source sources[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (first + i < count)
          sources[i] = *reinterpret_cast<const Source *>(from + tokens[first + i] * p.columns);
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (first + i < count)
#pragma unroll
          for (int c = 0; c < kColumns; ++c)
            sum.values[c] += widen(sources[i].values[c]);
    }
    *to = sum;
  }
};

template <typename T, int kColumns> struct EmbeddingGrad {
  const EmbeddingGradParams &p;
  Workspace &w;
  int64_t firstRow; // the first row of this block, among those of p.grad
  int numRows;
  int listed = 0;
  bool fresh; // grad has not been written yet, and is not added to

  DTC_DEVICE EmbeddingGrad(const EmbeddingGradParams &p, Workspace &w)
      : p(p), w(w), firstRow(static_cast<int64_t>(blockIndex()) * p.rowsPerBlock),
        numRows(static_cast<int>(least<int64_t>(p.rowsPerBlock, p.rows - firstRow))),
        fresh(!p.accumulate) {}

  // Lists the tokens of [first, first + kEmbeddingChunk) that have one of the block's rows.
  DTC_DEVICE void list(int64_t first) {
    int64_t token = first + static_cast<int64_t>(threadIndex()) * kEmbeddingIdsPerThread;
    int rows[kEmbeddingIdsPerThread], count = 0;
#pragma unroll
    for (int i = 0; i < kEmbeddingIdsPerThread; ++i) {
      int64_t row = token + i < p.tokens ? p.ids[token + i] - p.firstRow - firstRow : -1;
      bool isListed = row >= 0 && row < numRows && row + firstRow != p.skippedRow;
      rows[i] = isListed ? static_cast<int>(row) : -1;
      count += rows[i] >= 0;
    }
    int total, at = listed + sumBefore(w, count, total);
#pragma unroll
    for (int i = 0; i < kEmbeddingIdsPerThread; ++i)
      if (rows[i] >= 0) {
        w.tokens[at] = static_cast<int32_t>(token + i);
        w.rows[at++] = static_cast<int16_t>(rows[i]);
      }
    listed += total;
  }

  // Sorts the list by row, each row by one warp.
  DTC_DEVICE void sort() {
    int thread = static_cast<int>(threadIndex());
    int warp = thread / 32, lane = thread % 32;
    for (int row = warp; row < numRows; row += kWarps) {
      int count = 0;
      for (int i = 0; i < listed; i += 32)
        count += __builtin_popcount(ballot(i + lane < listed && w.rows[i + lane] == row));
      if (lane == 0)
        w.counts[row] = count;
    }
    blockBarrier();
    int total, count = thread < numRows ? w.counts[thread] : 0;
    int before = sumBefore(w, count, total);
    if (thread < numRows)
      w.firsts[thread] = before;
    blockBarrier();
    for (int row = warp; row < numRows; row += kWarps) {
      int at = w.firsts[row];
      if (w.counts[row] == 0)
        continue;
      for (int i = 0; i < listed; i += 32) {
        bool mine = i + lane < listed && w.rows[i + lane] == row;
        uint32_t all = ballot(mine);
        if (mine)
          w.sorted[at + __builtin_popcount(all & ((1u << lane) - 1))] = w.tokens[i + lane];
        at += __builtin_popcount(all);
      }
    }
    blockBarrier();
  }

  // Adds the listed tokens; a warp handles 32 * kColumns columns of a row at a time.
  DTC_DEVICE void flush() {
    blockBarrier(); // the list is complete
    sort();
    int warp = static_cast<int>(threadIndex() / kWarp),
        lane = static_cast<int>(threadIndex() % kWarp);
    constexpr int kPiece = 32 * kColumns;
    int pieces = static_cast<int>((p.columns + kPiece - 1) / kPiece);
    for (int64_t item = warp; item < static_cast<int64_t>(numRows) * pieces; item += kWarps) {
      int row = static_cast<int>(item / pieces);
      int64_t column = item % pieces * kPiece + lane * kColumns;
      if (column < p.columns && (fresh || w.counts[row] > 0))
        RowSum<T, kColumns>::add(p, w.sorted + w.firsts[row], w.counts[row], firstRow + row, column,
                                 fresh);
    }
    listed = 0; // list() waits for all threads before it writes
    fresh = false;
  }

  DTC_DEVICE void run() {
    for (int64_t first = 0; first < p.tokens; first += kEmbeddingChunk) {
      if (listed + kEmbeddingChunk > kEmbeddingList)
        flush();
      list(first);
    }
    if (listed > 0 || fresh)
      flush();
  }
};

} // namespace

#define DTC_EMBEDDING_GRAD(name, T, columns)                                                       \
  DTC_KERNEL(kEmbeddingGradThreads, 2)                                                             \
  EmbeddingGrad_##name(const EmbeddingGradParams p) {                                              \
    __attribute__((shared)) static Workspace workspace;                                            \
    EmbeddingGrad<T, columns>(p, workspace).run();                                                 \
  }
DTC_EMBEDDING_GRAD(f32_4, float, 4)
DTC_EMBEDDING_GRAD(f32_1, float, 1)
DTC_EMBEDDING_GRAD(bf16_4, BFloat16, 4)
DTC_EMBEDDING_GRAD(bf16_1, BFloat16, 1)
DTC_EMBEDDING_GRAD(f16_4, Float16, 4)
DTC_EMBEDDING_GRAD(f16_1, Float16, 1)

} // namespace dtc::cuda
