// Products of groups of rows of 16-bit numbers by tensor cores.
//
// Launch: one block of 8 warps per tile of 128 x 128 of the result, with as many blocks as any
// counts can need; each finds its tile from the counts, and those that are left write zeros to the
// rows behind the last group. A block adds up all terms of its tile in order, so that bits do not
// depend on the launch.
//
// Cost: 2 * k * n flops for each row of a group, rounded up to a tile of rows; each block reads the
// rows and the columns of its tile once. Source of the loop: the pipeline of copies of CUTLASS 3,
// "Efficient GEMM in CUDA", docs/media/docs/efficient_gemm.md.
#include "kernels/cuda/GroupedRows.h"
#include "kernels/cuda/TensorCore.h"

namespace dtc::cuda {

namespace {

constexpr int kWarpRows = 32, kWarpColumns = 64; // of the result, by each of 4 x 2 warps
constexpr int kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;

// The forms of kernels/cpu/GroupedGemm.h: c = a b, c = a b^T, c = a^T b.
enum class Form { Rows, Transposed, Sums };

// The tiles of both operands in one step, as memory has them.
template <Form form> struct Step {
  using Wide = NarrowTile<kGroupedDepth, kGroupedRows>; // rows of it are terms
  using Tall = NarrowTile<kGroupedRows, kGroupedDepth>; // columns of it are terms
  static_assert(kGroupedRows == kGroupedColumns && Tall::kBytes == kGroupedOperandBytes &&
                Wide::kBytes <= kGroupedOperandBytes);
  char *data;

  DTC_DEVICE char *right() const { return data + kGroupedOperandBytes; }

  // Starts the copies of terms [depth, depth + kGroupedDepth).
  DTC_DEVICE void fill(const GroupedGemmParams &p, const GroupRows &rows, int row, int column,
                       int depth) const {
    auto a = static_cast<const char *>(p.a), b = static_cast<const char *>(p.b);
    constexpr int threads = kGroupedThreads;
    int64_t aBytes = 2 * int64_t(p.k), bBytes = 2 * int64_t(p.n);
    if constexpr (form == Form::Sums) {
      int64_t first = int64_t(rows.first) + depth;
      int terms = rows.end - rows.first - depth;
      Wide{data}.template fill<threads>(a + first * aBytes + 2 * row, aBytes, terms, p.k - row);
      Wide{right()}.template fill<threads>(b + first * bBytes + 2 * column, bBytes, terms,
                                           p.n - column);
      return;
    }
    b += rows.group * (p.k * bBytes);
    Tall{data}.template fill<threads>(a + row * aBytes + 2 * depth, aBytes, rows.end - row,
                                      p.k - depth);
    if constexpr (form == Form::Transposed)
      Tall{right()}.template fill<threads>(b + column * aBytes + 2 * depth, aBytes, p.n - column,
                                           p.k - depth);
    else
      Wide{right()}.template fill<threads>(b + depth * bBytes + 2 * column, bBytes, p.k - depth,
                                           p.n - column);
  }

  // Adds the step's terms to one warp's sums.
  template <typename T>
  DTC_DEVICE void add(float (&sums)[kRowTiles][kColumnTiles][4], int row, int column) const {
#pragma unroll
    for (int depth = 0; depth < kGroupedDepth; depth += 16) {
      uint32_t lefts[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        if constexpr (form == Form::Sums)
          Wide{data}.leftTransposed(lefts[m], depth, row + 16 * m);
        else
          Tall{data}.left(lefts[m], row + 16 * m, depth);
#pragma unroll
      for (int n = 0; n < kColumnTiles / 2; ++n) {
        uint32_t rights[4];
        if constexpr (form == Form::Transposed)
          Tall{right()}.rightTransposed(rights, column + 16 * n, depth);
        else
          Wide{right()}.right(rights, depth, column + 16 * n);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          multiply<T>(sums[m][2 * n], lefts[m], rights[0], rights[1]);
          multiply<T>(sums[m][2 * n + 1], lefts[m], rights[2], rights[3]);
        }
      }
    }
  }
};

// Stores two neighbours.
DTC_DEVICE void store(float *to, float first, float second, bool adds) {
  typedef float Floats2 __attribute__((ext_vector_type(2)));
  auto pair = reinterpret_cast<Floats2 *>(to);
  Floats2 before = adds ? *pair : Floats2{0, 0};
  *pair = before + Floats2{first, second};
}
template <typename R> DTC_DEVICE void store(R *to, float first, float second, bool) {
  *reinterpret_cast<uint32_t *>(to) = packPair<R>(first, second);
}

template <typename T, typename R, Form form> DTC_DEVICE void product(const GroupedGemmParams &p) {
  DTC_SHARED static GroupSearch search;
  int block = static_cast<int>(blockIndex());
  int column = block % p.columnTiles * kGroupedColumns, tile = block / p.columnTiles;
  int row, end; // of c, [row, end)
  GroupRows rows;
  if constexpr (form == Form::Sums) {
    rows = search.find(p, tile / p.rowTiles, p.groups, /*tileRows=*/0);
    row = tile % p.rowTiles * kGroupedRows, end = p.k;
    if (p.accumulate && rows.first == rows.end)
      return;
  } else {
    rows = search.find(p, tile, p.rowTiles, kGroupedRows);
    if (rows.group < 0)
      return clearRows<R>(p, rows, column);
    row = rows.first, end = rows.end;
  }
  int terms = form == Form::Sums ? rows.end - rows.first : p.k;
  int steps = (terms + kGroupedDepth - 1) / kGroupedDepth;
  auto stepAt = [](int index) {
    return Step<form>{dtcDynamicShared + index % kGroupedStages * 2 * kGroupedOperandBytes};
  };
#pragma unroll
  for (int i = 0; i < kGroupedStages - 1; ++i) {
    if (i < steps)
      stepAt(i).fill(p, rows, row, column, i * kGroupedDepth);
    commitCopies();
  }
  int warp = static_cast<int>(threadIndex() / kWarp);
  int warpRow = warp % 4 * kWarpRows, warpColumn = warp / 4 * kWarpColumns;
  float sums[kRowTiles][kColumnTiles][4] = {};
#pragma unroll 1
  for (int i = 0; i < steps; ++i) {
    waitForCopies<kGroupedStages - 2>();
    blockBarrier(); // the step is here, and the one before has been used
    if (int next = i + kGroupedStages - 1; next < steps)
      stepAt(next).fill(p, rows, row, column, next * kGroupedDepth);
    commitCopies();
    stepAt(i).template add<T>(sums, warpRow, warpColumn);
  }
  waitForCopies<0>();

  int lane = static_cast<int>(threadIndex() % kWarp);
  int64_t matrix = form == Form::Sums ? rows.group * (int64_t(p.k) * p.n) : 0;
  auto c = static_cast<R *>(p.c) + matrix;
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int i = row + warpRow + 16 * m + 8 * half + lane / 4;
      if (i >= end)
        continue;
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n)
        if (int j = column + warpColumn + 8 * n + lane % 4 * 2; j < p.n)
          store(c + int64_t(i) * p.n + j, sums[m][n][2 * half], sums[m][n][2 * half + 1],
                form == Form::Sums && p.accumulate);
    }
}

} // namespace

#define DTC_GROUPED(type, T, result, R, name, form)                                                \
  DTC_KERNEL(kGroupedThreads, 2)                                                                   \
  GroupedGemm_##type##_##result##_##name(const GroupedGemmParams p) {                              \
    product<T, R, Form::form>(p);                                                                  \
  }
#define DTC_GROUPED_FORMS(type, T, result, R)                                                      \
  DTC_GROUPED(type, T, result, R, rows, Rows)                                                      \
  DTC_GROUPED(type, T, result, R, transposed, Transposed)                                          \
  DTC_GROUPED(type, T, result, R, sums, Sums)
DTC_GROUPED_FORMS(bf16, BFloat16, bf16, BFloat16)
DTC_GROUPED_FORMS(bf16, BFloat16, f32, float)
DTC_GROUPED_FORMS(f16, Float16, f16, Float16)
DTC_GROUPED_FORMS(f16, Float16, f32, float)

} // namespace dtc::cuda
