// Matrix products of 16-bit tiles in shared memory by tensor cores: m16n8k16, sums in f32.
//
// With g = lane / 4 and t = lane % 4 * 2 a lane has [g, t], [g, t + 1], [g + 8, t], [g + 8, t + 1]
// of the 16 x 8 sums, and the elements of the operands that PTX ISA 9.7.14.5 assigns for
// mma.m16n8k16.
#pragma once

#include "kernels/cuda/Device.h"

namespace dtc::cuda {

// Converts a generic pointer to an address in shared memory.
DTC_DEVICE uint32_t sharedAddress(const void *pointer) {
  return static_cast<uint32_t>(
      reinterpret_cast<uintptr_t>((const __attribute__((address_space(3))) void *)pointer));
}

// Loads four 8 x 8 matrices; lanes 8 i to 8 i + 7 give the addresses of the rows of matrix i.
DTC_DEVICE void loadMatrices(uint32_t (&to)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(sharedAddress(row))
               : "memory");
}
// Loads four 8 x 8 matrices transposed.
DTC_DEVICE void loadTransposed(uint32_t (&to)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(sharedAddress(row))
               : "memory");
}

// Computes sum += a b^T with a [16, 16], b [8, 16].
template <typename T>
DTC_DEVICE void multiply(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <>
DTC_DEVICE void multiply<BFloat16>(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
DTC_DEVICE void multiply<Float16>(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                  uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Starts an asynchronous copy of 16 bytes. Copies of a thread before commitCopies() are complete
// when waitForCopies<n>() returns with at most n such groups after them; other threads see them
// after a barrier. If `there` is false, the source is not read and the target becomes 0.
DTC_DEVICE void copyLater(void *toShared, const void *fromGlobal, bool there) {
  __nvvm_cp_async_cg_shared_global_16((__attribute__((address_space(3))) void *)toShared,
                                      (const __attribute__((address_space(1))) void *)fromGlobal,
                                      there ? 16 : 0);
}
// Starts an asynchronous copy of one f32; see copyLater.
DTC_DEVICE void copyNumberLater(float *toShared, const float *fromGlobal, bool there) {
  __nvvm_cp_async_ca_shared_global_4((__attribute__((address_space(3))) void *)toShared,
                                     (const __attribute__((address_space(1))) void *)fromGlobal,
                                     there ? 4 : 0);
}
// Ends a group of asynchronous copies.
DTC_DEVICE void commitCopies() { __nvvm_cp_async_commit_group(); }
// Waits until at most `newer` groups of copies are in flight.
template <int newer> DTC_DEVICE void waitForCopies() { __nvvm_cp_async_wait_group(newer); }

// A tile of `rows` by `columns` 16-bit numbers, both multiples of 16. Rows are padded by 16 bytes
// to an odd number of 16-byte words: eight rows of one column are in eight different groups of
// banks.
template <int rows, int columns> struct NarrowTile {
  static constexpr int kRows = rows, kColumns = columns;
  static constexpr int kRowBytes = 2 * columns + 16, kBytes = rows * kRowBytes;
  static constexpr int kChunks = columns / 8; // 16 bytes each
  char *data;

  // Returns the address of an element.
  DTC_DEVICE char *at(int row, int column) const { return data + row * kRowBytes + 2 * column; }

  // Fills the tile from rows `rowBytes` apart; rows from `numRows` on and columns from `numColumns`
  // on, a multiple of 8, become 0.
  template <int threads>
  DTC_DEVICE void fill(const char *from, int64_t rowBytes, int numRows, int numColumns) const {
    constexpr int kAll = rows * kChunks;
#pragma unroll
    for (int first = 0; first < kAll; first += threads) {
      int chunk = first + static_cast<int>(threadIndex());
      if (kAll % threads != 0 && chunk >= kAll)
        break;
      int row = chunk / kChunks, column = chunk % kChunks * 8;
      copyLater(at(row, column), from + row * rowBytes + 2 * column,
                row < numRows && column < numColumns);
    }
  }

  // Writes one warp's rows [row, row + 16) to rows `rowBytes` apart.
  DTC_DEVICE void drain(int row, char *to, int64_t rowBytes, int numRows, int numColumns) const {
    int lane = static_cast<int>(threadIndex() % kWarp);
#pragma unroll
    for (int first = 0; first < 16 * kChunks; first += 32) {
      int chunk = first + lane;
      int i = chunk / kChunks, column = chunk % kChunks * 8;
      if (i < numRows && column < numColumns)
        *reinterpret_cast<Bytes16 *>(to + i * rowBytes + 2 * column) =
            *reinterpret_cast<const Bytes16 *>(at(row + i, column));
    }
  }

  // Loads a left operand: rows [row, row + 16), columns [column, column + 16).
  DTC_DEVICE void left(uint32_t (&to)[4], int row, int column) const {
    int lane = static_cast<int>(threadIndex() % kWarp);
    loadMatrices(to, at(lane % 16, lane / 16 * 8) + (row * kRowBytes + 2 * column));
  }
  // Loads a left operand, transposed: columns [column, column + 16), rows [row, row + 16).
  DTC_DEVICE void leftTransposed(uint32_t (&to)[4], int row, int column) const {
    int lane = static_cast<int>(threadIndex() % kWarp);
    loadTransposed(to, at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  }
  // Loads a right operand, transposed: words 0 and 1 are rows [row, row + 8), 2 and 3 the next
  // eight, all of columns [column, column + 16).
  DTC_DEVICE void rightTransposed(uint32_t (&to)[4], int row, int column) const {
    int lane = static_cast<int>(threadIndex() % kWarp);
    loadMatrices(to, at(row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8));
  }
  // Loads a right operand: words 0 and 1 are columns [column, column + 8), 2 and 3 the next eight,
  // all of rows [row, row + 16).
  DTC_DEVICE void right(uint32_t (&to)[4], int row, int column) const {
    int lane = static_cast<int>(threadIndex() % kWarp);
    loadTransposed(to, at(row + lane % 16, column + lane / 16 * 8));
  }

  // Writes one warp's 16 x columns sums, times `factors` of rows g and g + 8.
  template <typename T>
  DTC_DEVICE void put(int row, const float (&sums)[columns / 8][4], float factor0,
                      float factor1) const {
    int lane = static_cast<int>(threadIndex() % kWarp), g = lane / 4, t = lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
      *reinterpret_cast<uint32_t *>(at(row + g, 8 * n + t)) =
          packPair<T>(sums[n][0] * factor0, sums[n][1] * factor0);
      *reinterpret_cast<uint32_t *>(at(row + g + 8, 8 * n + t)) =
          packPair<T>(sums[n][2] * factor1, sums[n][3] * factor1);
    }
  }
};

// Computes sums[16 * rowTiles, columns] += weights[16 * rowTiles, rows] * tile[rows, columns],
// where the weights are f32 accumulators of 16 x 8 tiles, rounded to T.
template <typename T, int columns, int rows, int tiles, int rowTiles>
DTC_DEVICE void multiplyWeights(float (&sums)[rowTiles][columns / 8][4],
                                const float (&weights)[rowTiles][tiles][4],
                                const NarrowTile<rows, columns> &tile) {
  static_assert(rows == 8 * tiles);
#pragma unroll
  for (int k = 0; k < tiles / 2; ++k) {
    uint32_t left[rowTiles][4];
#pragma unroll
    for (int m = 0; m < rowTiles; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&from)[4] = weights[m][2 * k + i / 2];
        left[m][i] = packPair<T>(from[i % 2 * 2], from[i % 2 * 2 + 1]);
      }
#pragma unroll
    for (int n = 0; n < columns / 16; ++n) {
      uint32_t right[4];
      tile.right(right, 16 * k, 16 * n);
#pragma unroll
      for (int m = 0; m < rowTiles; ++m) {
        multiply<T>(sums[m][2 * n], left[m], right[0], right[1]);
        multiply<T>(sums[m][2 * n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

} // namespace dtc::cuda
