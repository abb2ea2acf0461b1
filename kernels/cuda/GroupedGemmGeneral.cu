// Products of groups of rows by plain FMAs: of f32, and of 16-bit numbers whose rows are not whole
// 16 bytes.
//
// Launch: one block of 16 x 16 threads per tile of 64 x 128 of the result, as in GroupedGemm.cu.
// Thread (y, x) has rows 4 y to 4 y + 3 and columns 4 x to 4 x + 3 of both halves of 64 columns.
#include "kernels/cuda/GroupedRows.h"

namespace dtc::cuda {

namespace {

constexpr int kRows = kGeneralGroupedRows, kColumns = kGroupedColumns;
constexpr int kDepth = kGeneralGroupedDepth;

// A matrix in memory whose element (term, i) is at term * termStride + i * stride, one of which is
// 1; elements from `terms` or `count` on are 0 and not read.
template <typename T> struct Operand {
  const T *data;
  int64_t termStride, stride;
  int terms, count;

  // Fills a tile of terms by `size` numbers, its rows padded by 4, with terms from `depth` on.
  template <int size> DTC_DEVICE void fill(float *tile, int depth) const {
    bool byTerm = termStride == 1; // neighbouring threads read neighbouring elements
#pragma unroll
    for (int first = 0; first < kDepth * size; first += kGroupedThreads) {
      int at = first + static_cast<int>(threadIndex());
      int term = byTerm ? at % kDepth : at / size, i = byTerm ? at / kDepth : at % size;
      bool inside = depth + term < terms && i < count;
      tile[term * (size + 4) + i] =
          inside ? widen(data[(depth + term) * termStride + i * stride]) : 0;
    }
  }
};

struct Workspace {
  GroupSearch search;
  // These are read by four.
  alignas(16) float left[kDepth * (kRows + 4)];
  alignas(16) float right[kDepth * (kColumns + 4)];
};

template <typename T, typename R>
DTC_DEVICE void product(const GroupedGemmParams &p, Workspace &shared) {
  int block = static_cast<int>(blockIndex());
  int column = block % p.columnTiles * kColumns, tile = block / p.columnTiles;
  GroupRows rows = p.sumsRows ? shared.search.find(p, tile / p.rowTiles, p.groups, /*tileRows=*/0)
                              : shared.search.find(p, tile, p.rowTiles, kRows);
  if (rows.group < 0)
    return clearRows<R>(p, rows, column);
  auto a = static_cast<const T *>(p.a), b = static_cast<const T *>(p.b);
  auto c = static_cast<R *>(p.c);
  int64_t matrix = rows.group * (int64_t(p.k) * p.n), k = p.k, n = p.n;
  int row = rows.first, end = rows.end, terms = p.k;
  Operand<T> left, right;
  if (p.sumsRows) {
    row = tile % p.rowTiles * kRows, end = p.k, terms = rows.end - rows.first;
    if (p.accumulate && terms == 0)
      return;
    left = {a + rows.first * k + row, k, 1, terms, end - row};
    right = {b + rows.first * n + column, n, 1, terms, p.n - column};
    c += matrix;
  } else {
    left = {a + row * k, 1, k, terms, end - row};
    right = p.transB ? Operand<T>{b + matrix + column * k, 1, k, terms, p.n - column}
                     : Operand<T>{b + matrix + column, n, 1, terms, p.n - column};
  }
  int x = static_cast<int>(threadIndex() % 16) * 4, y = static_cast<int>(threadIndex() / 16) * 4;
  float sums[4][8] = {};
#pragma unroll 1
  for (int depth = 0; depth < terms; depth += kDepth) {
    blockBarrier(); // the step before has been used
    left.template fill<kRows>(shared.left, depth);
    right.template fill<kColumns>(shared.right, depth);
    blockBarrier();
#pragma unroll 4
    for (int term = 0; term < kDepth; ++term) {
      Floats4 lefts = *reinterpret_cast<const Floats4 *>(shared.left + term * (kRows + 4) + y);
      const float *from = shared.right + term * (kColumns + 4) + x;
      Floats4 rights[2] = {*reinterpret_cast<const Floats4 *>(from),
                           *reinterpret_cast<const Floats4 *>(from + 64)};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sums[i][j] += lefts[i] * rights[j / 4][j % 4];
    }
  }
  bool adds = p.sumsRows && p.accumulate;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      int at = column + x + j / 4 * 64 + j % 4;
      if (row + y + i >= end || at >= p.n)
        continue;
      R *to = c + (row + y + i) * n + at;
      *to = narrow<R>(adds ? widen(*to) + sums[i][j] : sums[i][j]);
    }
}

} // namespace

#define DTC_GENERAL(type, T, result, R)                                                            \
  DTC_KERNEL(kGroupedThreads, 2)                                                                   \
  GroupedGemmGeneral_##type##_##result(const GroupedGemmParams p) {                                \
    DTC_SHARED static Workspace workspace;                                                         \
    product<T, R>(p, workspace);                                                                   \
  }
DTC_GENERAL(f32, float, f32, float)
DTC_GENERAL(bf16, BFloat16, bf16, BFloat16)
DTC_GENERAL(bf16, BFloat16, f32, float)
DTC_GENERAL(f16, Float16, f16, Float16)
DTC_GENERAL(f16, Float16, f32, float)

} // namespace dtc::cuda
