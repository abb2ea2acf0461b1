// Tile sizes of attention's kernels by padded head dim, for host and device.
#pragma once

namespace dtc::cuda {

inline constexpr int kNarrowThreads = 128; // 4 warps, each with rows of its own
inline constexpr int kWideThreads = 256;   // 16 x 16

// Returns the bytes of a tile of 16-bit numbers; rows are 16 bytes longer than their numbers.
constexpr int narrowTileBytes(int rows, int headDim) { return rows * (2 * headDim + 16); }

// Returns the tiles of 16 queries per warp in the forward pass: as many as registers allow, so that
// each key read from shared memory is used by more queries.
constexpr int forwardRowTiles(int headDim, bool dropout) {
  return headDim <= 64 && !dropout ? 2 : 1;
}
// Returns the keys of a step in the forward pass: as many as registers allow without spills.
constexpr int forwardKeys(int headDim, bool dropout) {
  if (dropout && headDim > 128 && headDim <= 192)
    return 16;
  return headDim <= (dropout ? 64 : 128) ? 64 : 32;
}
// Blocks for which a multiprocessor has registers.
inline constexpr int kForwardBlocks = 2;
// Returns the queries of a block in the forward pass.
constexpr int forwardQueries(int headDim, bool dropout) {
  return 64 * forwardRowTiles(headDim, dropout);
}
// Returns the bytes of shared memory of a block in the forward pass.
constexpr int forwardSharedBytes(int headDim, bool dropout) {
  return narrowTileBytes(forwardQueries(headDim, dropout), headDim) +
         2 * narrowTileBytes(forwardKeys(headDim, dropout), headDim);
}

// Returns the tiles of 16 rows per warp in the gradients. Rows are queries or keys, columns the
// others.
constexpr int gradRowTiles(int headDim, bool dropout) { return forwardRowTiles(headDim, dropout); }
// Returns the rows of a block in the gradients.
constexpr int gradRows(int headDim, bool dropout) { return 64 * gradRowTiles(headDim, dropout); }
// Returns the columns of a step in the gradients.
constexpr int gradColumns(int headDim) { return headDim <= 128 ? 32 : 16; }
// Returns the blocks for which a multiprocessor has registers in the gradients.
constexpr int gradBlocks(int headDim, bool dropout) {
  return headDim <= 64 && gradRowTiles(headDim, dropout) == 1 ? 3 : 2;
}
// Returns the bytes of shared memory of a block in the gradients.
constexpr int gradSharedBytes(int headDim, bool dropout) {
  return 2 * narrowTileBytes(gradRows(headDim, dropout), headDim) +
         4 * narrowTileBytes(gradColumns(headDim), headDim) + 16 * gradColumns(headDim);
}
constexpr bool gradIsWhole(int headDim) { return headDim <= 128; } // true: dk and dv in one launch

// Columns of a step in the general kernels, which use tiles of f32 with rows 16 bytes longer than
// their numbers. Weights go through shared memory: the 16 threads of a row write and read them.
inline constexpr int kGeneralColumns = 32;
// Returns the bytes of a tile of f32.
constexpr int generalTileBytes(int rows, int columns) { return rows * (4 * columns + 16); }
// Returns the rows of a block in the general kernels.
constexpr int generalRows(int headDim) { return headDim <= 128 ? 64 : 32; }
// Returns the bytes of shared memory of a block in the general forward kernel.
constexpr int generalForwardSharedBytes(int headDim) {
  return generalTileBytes(generalRows(headDim), headDim) +
         2 * generalTileBytes(kGeneralColumns, headDim) +
         generalTileBytes(generalRows(headDim), kGeneralColumns);
}
// Returns the bytes of shared memory of a block in the general gradients.
constexpr int generalGradSharedBytes(int headDim) {
  return 2 * generalTileBytes(generalRows(headDim), headDim) +
         2 * generalTileBytes(kGeneralColumns, headDim) +
         2 * generalTileBytes(generalRows(headDim), kGeneralColumns);
}

} // namespace dtc::cuda
