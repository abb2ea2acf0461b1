// Tile sizes of attention's kernels by padded head dim, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kNarrowThreads = 128; // 4 warps, each with rows of its own
inline constexpr int kWideThreads = 256;   // 16 x 16

// Bytes of a tile of 16-bit numbers; rows are 16 bytes longer than their numbers.
constexpr int narrowTileBytes(int rows, int headDim) { return rows * (2 * headDim + 16); }

// Forward: 16 queries times this per warp, so that each key read from shared memory meets more of
// them, as far as registers reach; keys of a step; blocks that a multiprocessor has registers for.
constexpr int forwardRowTiles(int headDim, bool dropout) {
  return headDim <= 64 && !dropout ? 2 : 1;
}
constexpr int forwardKeys(int headDim, bool dropout) {
  return headDim <= (dropout ? 64 : 128) ? 64 : 32;
}
inline constexpr int kForwardBlocks = 2;
constexpr int forwardQueries(int headDim, bool dropout) {
  return 64 * forwardRowTiles(headDim, dropout);
}
constexpr int forwardSharedBytes(int headDim, bool dropout) {
  return narrowTileBytes(forwardQueries(headDim, dropout), headDim) +
         2 * narrowTileBytes(forwardKeys(headDim, dropout), headDim);
}

// Gradients: rows of a block, which are queries or keys, 16 times this per warp, and columns of a
// step, of the other kind.
constexpr int gradRowTiles(int headDim, bool dropout) { return forwardRowTiles(headDim, dropout); }
constexpr int gradRows(int headDim, bool dropout) { return 64 * gradRowTiles(headDim, dropout); }
constexpr int gradColumns(int headDim) { return headDim <= 128 ? 32 : 16; }
constexpr int gradBlocks(int headDim, bool dropout) {
  return headDim <= 64 && gradRowTiles(headDim, dropout) == 1 ? 3 : 2;
}
constexpr int gradSharedBytes(int headDim, bool dropout) {
  return 2 * narrowTileBytes(gradRows(headDim, dropout), headDim) +
         4 * narrowTileBytes(gradColumns(headDim), headDim) + 16 * gradColumns(headDim);
}
constexpr bool gradIsWhole(int headDim) { return headDim <= 128; } // dk and dv in one launch

// The general kernels: tiles of f32, rows 16 bytes longer than their numbers; weights go through
// shared memory, each row of a block's by the 16 threads that made it.
inline constexpr int kGeneralColumns = 32;
constexpr int generalTileBytes(int rows, int columns) { return rows * (4 * columns + 16); }
constexpr int generalRows(int headDim) { return headDim <= 128 ? 64 : 32; }
constexpr int generalForwardSharedBytes(int headDim) {
  return generalTileBytes(generalRows(headDim), headDim) +
         2 * generalTileBytes(kGeneralColumns, headDim) +
         generalTileBytes(generalRows(headDim), kGeneralColumns);
}
constexpr int generalGradSharedBytes(int headDim) {
  return 2 * generalTileBytes(generalRows(headDim), headDim) +
         2 * generalTileBytes(kGeneralColumns, headDim) +
         2 * generalTileBytes(generalRows(headDim), kGeneralColumns);
}

} // namespace dtc::cuda
