// Matrix products of f32 tiles in shared memory by plain FMAs, in blocks of 16 x 16 threads: thread
// (y, x) has rows y + 16 i of a block's rows, and columns x + 16 j of a matrix product.
#pragma once

#include "kernels/cuda/AttentionTiling.h"
#include "kernels/cuda/Device.h"

namespace dtc::cuda {

// Returns the thread's column in the 16 x 16 block.
DTC_DEVICE int threadX() { return static_cast<int>(threadIndex() % 16); }
// Returns the thread's row in the 16 x 16 block.
DTC_DEVICE int threadY() { return static_cast<int>(threadIndex() / 16); }

// A tile of f32 in shared memory. Rows are padded by 4 numbers, so that 16 neighbouring rows are in
// different groups of banks.
template <int rows, int columns> struct GeneralTile {
  static constexpr int kStride = columns + 4, kBytes = generalTileBytes(rows, columns);
  float *data;

  // Returns the address of an element.
  DTC_DEVICE float *at(int row, int column) const { return data + row * kStride + column; }
  // Returns four neighbouring elements of a row.
  DTC_DEVICE Floats4 four(int row, int column) const {
    return *reinterpret_cast<const Floats4 *>(at(row, column));
  }

  // Fills the tile from rows `stride` elements apart; rows from `numRows` on and columns from
  // `numColumns` on become 0.
  template <typename T>
  DTC_DEVICE void fill(const T *from, int64_t stride, int numRows, int numColumns) const {
#pragma unroll 4
    for (int i = static_cast<int>(threadIndex()); i < rows * columns; i += kWideThreads) {
      int row = i / columns, column = i % columns;
      bool inside = row < numRows && column < numColumns;
      *at(row, column) = inside ? widen(from[row * stride + column]) : 0;
    }
  }
};

// Computes out[i][j] = row y + 16 i of `a` times row x + 16 j of `b`.
template <int kRows, int kColumns, int rows, int columns, int D>
DTC_DEVICE void multiplyRows(float (&out)[kRows][kColumns], const GeneralTile<rows, D> &a,
                             const GeneralTile<columns, D> &b) {
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      out[i][j] = 0;
#pragma unroll 4
  for (int d = 0; d < D; d += 4) {
    Floats4 left[kRows], right[kColumns];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      left[i] = a.four(threadY() + 16 * i, d);
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      right[j] = b.four(threadX() + 16 * j, d);
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          out[i][j] += left[i][e] * right[j][e];
  }
}

// Sums [rows y + 16 i, D]; the thread has columns column(0), column(1), ...
template <int kRows, int D> struct GeneralSums {
  static constexpr int kTogether = D >= 64 ? 4 : 2, kColumns = D / 16;
  float values[kRows][kColumns] = {};

  // Returns the number of the thread's index-th column.
  DTC_DEVICE static int column(int index) {
    return index / kTogether * 16 * kTogether + threadX() * kTogether + index % kTogether;
  }

  // Adds weights [rows, columns] * tile [columns, D].
  template <int rows, int columns>
  DTC_DEVICE void add(const GeneralTile<rows, columns> &weights,
                      const GeneralTile<columns, D> &tile) {
#pragma unroll 1
    for (int j = 0; j < columns; j += 4) {
      Floats4 left[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        left[i] = weights.four(threadY() + 16 * i, j);
#pragma unroll
      for (int e = 0; e < 4; ++e)
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          float right = *tile.at(j + e, column(c));
#pragma unroll
          for (int i = 0; i < kRows; ++i)
            values[i][c] += left[i][e] * right;
        }
    }
  }

  // Writes row y + 16 i times factors[i] to rows `stride` elements apart.
  template <typename T>
  DTC_DEVICE void write(T *to, int64_t stride, int numRows, int numColumns,
                        const float (&factors)[kRows]) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        if (int row = threadY() + 16 * i; row < numRows && column(c) < numColumns)
          to[row * stride + column(c)] = narrow<T>(values[i][c] * factors[i]);
  }
};

} // namespace dtc::cuda
