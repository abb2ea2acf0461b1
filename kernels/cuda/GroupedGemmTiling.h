// Tile sizes of the kernels of grouped products, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kGroupedThreads = 256;
inline constexpr int kGroupedColumns = 128; // columns of a block's tile of the result
inline constexpr int kGroupedRows = 128;    // rows, with tensor cores
inline constexpr int kGeneralGroupedRows = 64;
// Terms of the sums that a step of the loop has in shared memory, and the steps that it holds with
// tensor cores.
inline constexpr int kGroupedDepth = 32, kGroupedStages = 3;
inline constexpr int kGeneralGroupedDepth = 16;
// Bytes of shared memory of an operand in one step with tensor cores: 128 rows of 32 numbers and 16
// bytes, or less.
inline constexpr int kGroupedOperandBytes = 128 * (2 * kGroupedDepth + 16);
inline constexpr int kGroupedSharedBytes = 2 * kGroupedStages * kGroupedOperandBytes;

} // namespace dtc::cuda
