// The register tile that all matrix products consist of, and the packing of its operands.
//
//   C[kTileRows, kTileColumns] = beta * C + alpha * A * B
//
// B is a panel: [k][kTileColumns] contiguous, 64-byte aligned. A is read one element at a time, so
// any strides are possible: a packed panel [k][kTileRows] (1, kTileRows), a row-major block (ld, 1)
// or its transpose (1, ld). Each element of C is one chain of fused multiply-adds in order of k:
// its bits do not depend on its position or tile. Cost: 2 * kTileRows * kTileColumns * k flops;
// peak needs k of about 64 or more.
#pragma once

#include "kernels/cpu/Simd.h"

#include <cstring>

namespace dtc::cpu::DTC_ISA {

// Zen 5 (AVX-512): 12x32 runs at 240 GFLOP/s, 8x48 at 237, 14x32 at 221. With 16 registers 6x16 is
// the largest tile that leaves room for a row of B and one of A.
#ifdef __AVX512F__
inline constexpr int kTileRows = 12;
#else
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr int kTileColumns = kTileVectors * kLanes;

// Returns the smallest multiple of `to` that is not below `value`.
inline int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
// Returns the smaller number.
inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
// Returns the larger number.
inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

// Distance in k between prefetches of multiplyTile, and floats per cache line.
inline constexpr int64_t kPrefetchDepth = 4;
inline constexpr int64_t kLineFloats = 16;

// Adds one step of k to the sums: one column of A times one row of the panel.
template <int kRowStride, int kDepthStride>
inline void addProducts(const float *a, const Vec *panel, Vec (&sum)[kTileRows][kTileVectors]) {
  Vec column[kTileVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kTileVectors; ++j)
    column[j] = panel[j];
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) {
    Vec row = splat(a[i * kRowStride]);
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j)
      sum[i][j] += row * column[j];
  }
}

// Computes the tile above. `ahead`, if given, is prefetched into the second-level cache meanwhile:
// k / kPrefetchDepth lines of it.
template <int kRowStride, int kDepthStride>
inline void multiplyTile(int64_t k, const float *__restrict a, const float *__restrict b,
                         float *__restrict c, int64_t ldc, float alpha, float beta,
                         const float *ahead = nullptr) {
  Vec sum[kTileRows][kTileVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j)
      sum[i][j] = Vec{};
  const Vec *panel = reinterpret_cast<const Vec *>(b);
  int64_t depth = 0;
  ahead = ahead ? ahead : b; // b is already in cache, so prefetching it costs nothing
  for (; depth + kPrefetchDepth <= k; depth += kPrefetchDepth) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += kLineFloats;
#pragma GCC unroll 4
    for (int64_t step = 0; step < kPrefetchDepth; ++step)
      addProducts<kRowStride, kDepthStride>(a + step * kDepthStride, panel + step * kTileVectors,
                                            sum);
    a += kPrefetchDepth * kDepthStride;
    panel += kPrefetchDepth * kTileVectors;
  }
  for (; depth < k; ++depth) {
    addProducts<kRowStride, kDepthStride>(a, panel, sum);
    a += kDepthStride;
    panel += kTileVectors;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j) {
      float *to = c + i * ldc + j * kLanes;
      Vec value = splat(alpha) * sum[i][j];
      if (beta != 0)
        value += splat(beta) * load(to);
      store(to, value);
    }
}

// Copies rows [0, k) of b, `width` <= kTileColumns contiguous floats each, `stride` apart, to a
// panel; columns beyond `width` become 0.
inline void packPanelRows(const float *b, int64_t stride, int64_t k, int64_t width, float *panel) {
  if (width == kTileColumns) {
    for (int64_t depth = 0; depth < k; ++depth)
      memcpy(panel + depth * kTileColumns, b + depth * stride, kTileColumns * sizeof(float));
    return;
  }
  for (int64_t depth = 0; depth < k; ++depth)
    for (int64_t j = 0; j < kTileColumns; ++j)
      panel[depth * kTileColumns + j] = j < width ? b[depth * stride + j] : 0;
}

// Writes src^T: dst[j * ldd + i] = scale * src[i * lds + j] for i < rows <= kLanes, j < columns.
// Each row of dst is stored as one whole vector, its lanes from `rows` on being 0, so dst needs
// room for kLanes floats in its last row; rows are written in order, later ones over the slack of
// earlier ones where ldd < kLanes.
inline void transposeStrip(const float *src, int64_t lds, int64_t rows, int64_t columns, float *dst,
                           int64_t ldd, float scale) {
  int64_t j = 0;
  if (rows == kLanes || rows == kTileRows)
    for (; j + kLanes <= columns; j += kLanes) {
      Vec block[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        block[i] = i < kTileRows || rows == kLanes ? load(src + i * lds + j) * splat(scale) : Vec{};
      transposeLanes(block);
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l)
        store(dst + (j + l) * ldd, block[l]);
    }
  for (; j < columns; ++j) {
    float edge[kLanes] = {};
    for (int64_t i = 0; i < rows; ++i)
      edge[i] = src[i * lds + j] * scale;
    store(dst + j * ldd, load(edge));
  }
}

// Packs a panel of B from a transposed source: row j of `b` (k contiguous floats, rows `stride`
// apart) becomes column j; columns beyond `width` become 0.
inline void packPanelTransposed(const float *b, int64_t stride, int64_t k, int64_t width,
                                float *panel) {
  for (int64_t j = 0; j < kTileColumns; j += kLanes)
    transposeStrip(b + j * stride, stride, greatest(0, least(kLanes, width - j)), k, panel + j,
                   kTileColumns, 1.0f);
}

// Packs a panel of A, [k][kTileRows], from `rows` <= kTileRows rows of k contiguous floats. Writes
// up to kLanes floats beyond the panel.
inline void packRows(const float *a, int64_t stride, int64_t rows, int64_t k, float scale,
                     float *panel) {
  transposeStrip(a, stride, rows, k, panel, kTileRows, scale);
}

} // namespace dtc::cpu::DTC_ISA
