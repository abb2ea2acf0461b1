// Embedding look-up and its gradient.
//
// Gradient: threads split the columns, so each element is summed by one thread in order of the
// tokens and no two threads write one row's part. Cost: 8 (forward) or 12 (backward) bytes per
// element of the output: bandwidth-bound.
#include "kernels/cpu/Kernels.h"
#include "kernels/cpu/ThreadPool.h"

#include <algorithm>
#include <cstring>

namespace dtc::cpu {

namespace {

constexpr int64_t kColumnGrain = 16; // one cache line of f32: no line is written by two threads
constexpr int64_t kBytesPerPiece = 64 * 1024;

int64_t rowsPerPiece(int64_t columns) {
  return std::max<int64_t>(1, kBytesPerPiece / std::max<int64_t>(1, columns * sizeof(float)));
}

} // namespace

void embedding(const float *table, const int32_t *ids, float *out, int64_t rows, int64_t columns,
               int64_t tokens, int64_t firstRow, ThreadPool &pool) {
  size_t rowBytes = static_cast<size_t>(columns) * sizeof(float);
  pool.parallelFor(tokens, rowsPerPiece(columns), [&](int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
      int64_t row = ids[token] - firstRow;
      if (row >= 0 && row < rows)
        std::memcpy(out + token * columns, table + row * columns, rowBytes);
      else
        std::memset(out + token * columns, 0, rowBytes);
    }
  });
}

void embeddingGrad(float *grad, const int32_t *ids, const float *dout, int64_t rows,
                   int64_t columns, int64_t tokens, int64_t firstRow, bool accumulate,
                   ThreadPool &pool) {
  if (!accumulate)
    pool.parallelFor(rows, rowsPerPiece(columns), [&](int64_t begin, int64_t end) {
      std::memset(grad + begin * columns, 0,
                  static_cast<size_t>((end - begin) * columns) * sizeof(float));
    });
  int64_t perThread = (columns + pool.size() - 1) / pool.size();
  int64_t grain = (perThread + kColumnGrain - 1) / kColumnGrain * kColumnGrain;
  pool.parallelFor(columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t token = 0; token < tokens; ++token) {
      int64_t row = ids[token] - firstRow;
      if (row < 0 || row >= rows)
        continue;
      float *to = grad + row * columns;
      const float *from = dout + token * columns;
      for (int64_t column = begin; column < end; ++column)
        to[column] += from[column];
    }
  });
}

} // namespace dtc::cpu
