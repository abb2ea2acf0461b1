// Packing and the block product of one instruction set, and that set's table of kernels.
#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/IsaTables.h"
#include "kernels/cpu/NarrowFloats.h"
#include "kernels/cpu/Tile.h"

namespace dtc::cpu::DTC_ISA {

namespace {

void packA(const float *a, int64_t lda, bool transposed, int64_t m, int64_t k, float *out) {
  for (int64_t i = 0; i < m; i += kTileRows, out += kTileRows * k) {
    int64_t rows = least(kTileRows, m - i);
    if (!transposed) {
      packRows(a + i * lda, lda, rows, k, 1, out);
      continue;
    }
    for (int64_t depth = 0; depth < k; ++depth)
      if (rows == kTileRows)
        memcpy(out + depth * kTileRows, a + depth * lda + i, kTileRows * sizeof(float));
      else
        for (int64_t l = 0; l < kTileRows; ++l)
          out[depth * kTileRows + l] = l < rows ? a[depth * lda + i + l] : 0;
  }
}

void packB(const float *b, int64_t ldb, bool transposed, int64_t k, int64_t n, float *out) {
  for (int64_t j = 0; j < n; j += kTileColumns, out += kTileColumns * k) {
    int64_t width = least(kTileColumns, n - j);
    if (transposed)
      packPanelTransposed(b + j * ldb, ldb, k, width, out);
    else
      packPanelRows(b + j, ldb, k, width, out);
  }
}

// Computes a whole tile at the edge of C and copies the part inside of C.
void multiplyEdge(int64_t rows, int64_t columns, int64_t k, const float *a, const float *b,
                  float *c, int64_t ldc, float alpha, float beta) {
  alignas(64) float whole[kTileRows * kTileColumns];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      whole[i * kTileColumns + j] = beta != 0 ? c[i * ldc + j] : 0;
  for (int64_t i = 0; i < kTileRows; ++i)
    for (int64_t j = i < rows ? columns : 0; j < kTileColumns; ++j)
      whole[i * kTileColumns + j] = 0;
  multiplyTile<1, kTileRows>(k, a, b, whole, kTileColumns, alpha, beta);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      c[i * ldc + j] = whole[i * kTileColumns + j];
}

void multiplyPacked(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                    int64_t ldc, float alpha, float beta) {
  for (int64_t j = 0; j < n; j += kTileColumns)
    for (int64_t i = 0; i < m; i += kTileRows) {
      float *tile = c + i * ldc + j;
      int64_t rows = least(kTileRows, m - i), columns = least(kTileColumns, n - j);
      if (rows < kTileRows || columns < kTileColumns) {
        multiplyEdge(rows, columns, k, a + i * k, b + j * k, tile, ldc, alpha, beta);
        continue;
      }
      for (int64_t l = 0; l < kTileRows; ++l)
        for (int64_t v = 0; v < kTileVectors; ++v)
          __builtin_prefetch(tile + l * ldc + v * kLanes, 1);
      // Prefetches the next panel of B, which comes from the third-level cache: each tile fetches a
      // part of it.
      const float *ahead = nullptr;
      if (int64_t lines = i / kTileRows * (k / kPrefetchDepth) * kLineFloats;
          j + kTileColumns < n && lines < k * kTileColumns)
        ahead = b + (j + kTileColumns) * k + lines;
      multiplyTile<1, kTileRows>(k, a + i * k, b + j * k, tile, ldc, alpha, beta, ahead);
    }
}

void transpose(const float *src, int64_t lds, float *dst, int64_t ldd, int64_t rows,
               int64_t columns) {
  for (int64_t i = 0; i < rows; i += kLanes)
    for (int64_t j = 0; j < columns; j += kLanes) {
      int64_t height = least(kLanes, rows - i), width = least(kLanes, columns - j);
      const float *from = src + i * lds + j;
      float *to = dst + j * ldd + i;
      if (height < kLanes || width < kLanes) {
        for (int64_t l = 0; l < width; ++l)
          for (int64_t r = 0; r < height; ++r)
            memcpy(to + l * ldd + r, from + r * lds + l, sizeof(float));
        continue;
      }
      Vec block[kLanes];
      for (int r = 0; r < kLanes; ++r)
        block[r] = load(from + r * lds);
      transposeLanes(block);
      for (int l = 0; l < kLanes; ++l)
        store(to + l * ldd, block[l]);
    }
}

void exp2Array(const float *x, float *out, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(out + i, exp2NonPositive(load(x + i)));
  if (i == count)
    return;
  float edge[kLanes] = {};
  memcpy(edge, x + i, (count - i) * sizeof(float));
  store(edge, exp2NonPositive(load(edge)));
  memcpy(out + i, edge, (count - i) * sizeof(float));
}

} // namespace

#define DTC_STRING(name) DTC_STRING_OF(name)
#define DTC_STRING_OF(name) #name

extern const IsaKernels kernels = {DTC_STRING(DTC_ISA),
                                   kTileRows,
                                   kTileColumns,
                                   packA,
                                   packB,
                                   multiplyPacked,
                                   attentionWorkspace,
                                   attentionUnit,
                                   attentionDelta,
                                   attentionGradWorkspace,
                                   attentionGradUnit,
                                   attentionBiasUnit,
                                   transpose,
                                   exp2Array,
                                   widen,
                                   narrow};

} // namespace dtc::cpu::DTC_ISA
