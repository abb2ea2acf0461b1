// Embedding look-up and its gradient.
//
// In the gradient threads split the columns, so each element is summed by one thread in order of
// the tokens, and no two threads write the same part of a row. Cost: 8 (forward) or 12 (backward)
// bytes per element of the output: bandwidth-bound.
#include "kernels/cpu/Embedding.h"

#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/Scratch.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>

namespace dtc::cpu {

namespace {

constexpr int64_t kColumnGrain = 16; // one cache line of f32: no line is written by two threads
constexpr int64_t kBytesPerPiece = 64 * 1024;

thread_local Scratch wideScratch; // a part of a row in f32

int64_t rowsPerPiece(int64_t columns) {
  return std::max<int64_t>(1, kBytesPerPiece / std::max<int64_t>(1, columns * sizeof(float)));
}

} // namespace

void embedding(const void *table, const int32_t *ids, void *out, int64_t rows, int64_t columns,
               int64_t tokens, int64_t firstRow, ThreadPool &pool, ElementType type) {
  int64_t rowBytes = columns * bytesOf(type);
  auto *from = static_cast<const char *>(table);
  auto *to = static_cast<char *>(out);
  pool.parallelFor(tokens, rowsPerPiece(columns), [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      int64_t row = ids[token] - firstRow;
      if (row >= 0 && row < rows)
        std::memcpy(to + token * rowBytes, from + row * rowBytes, static_cast<size_t>(rowBytes));
      else
        std::memset(to + token * rowBytes, 0, static_cast<size_t>(rowBytes));
    }
  });
}

void embeddingGrad(float *grad, const int32_t *ids, const void *dout, int64_t rows, int64_t columns,
                   int64_t tokens, int64_t firstRow, bool accumulate, ThreadPool &pool,
                   ElementType type, int64_t padding) {
  int64_t skipped = padding < 0 ? -1 : padding - firstRow; // negative if no row of grad is skipped
  if (!accumulate)
    pool.parallelFor(rows, rowsPerPiece(columns), [&](int64_t begin, int64_t end) {
      std::memset(grad + begin * columns, 0,
                  static_cast<size_t>((end - begin) * columns) * sizeof(float));
    });
  int64_t perThread = (columns + pool.size() - 1) / pool.size();
  int64_t grain = (perThread + kColumnGrain - 1) / kColumnGrain * kColumnGrain;
  pool.parallelFor(columns, grain, [&](int64_t begin, int64_t end) {
    float *wide = wideScratch.reserve(end - begin);
    for (int64_t token = 0; token < tokens; ++token) {
      int64_t row = ids[token] - firstRow;
      if (row < 0 || row >= rows || row == skipped)
        continue;
      float *to = grad + row * columns;
      isaKernels().widen(
          type, static_cast<const char *>(dout) + (token * columns + begin) * bytesOf(type), wide,
          end - begin);
      for (int64_t column = begin; column < end; ++column)
        to[column] += wide[column - begin];
    }
  });
}

} // namespace dtc::cpu
