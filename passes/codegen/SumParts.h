// The division of a long sum into parts, so that a GPU uses all its multiprocessors for it.
#pragma once

#include "passes/codegen/KernelBuilder.h"

namespace dtc {

// Blocks that a divided sum should have, and blocks from which on a sum is not divided. The shape
// alone decides, so that every GPU adds up in the same order: 512 blocks are nearly four, 264 are
// two, for each of the 132 multiprocessors of an H200.
inline constexpr int64_t wantedSumBlocks = 512, enoughSumBlocks = 264;

// Columns of a unit of a sum over rows, of the parameter gradients of a norm in one step, and of
// these in parts. A sum over rows takes as many columns as there are registers for their sums,
// since longer pieces of rows are read faster. Two sums at once take fewer columns, except in
// parts, which only GPUs have: each of their threads has one vector of columns.
inline constexpr int64_t rowSumColumns = 128, normParamColumns = 32, normPartColumns = 128;

// The elements of a tensor in chunks of whole runs: a warp adds up one run at a time, a block 16 of
// them.
struct ChunkedSum {
  static constexpr int64_t run = 1024, runsAtOnce = 16;

  // Returns the number of chunks for `size` elements. Example: 7 million elements have 428 chunks
  // of 16 runs, 80 million have 489 of 160.
  static int64_t chunksOf(int64_t size);
  ChunkedSum(int64_t size, int64_t chunks) : size(size), chunks(chunks) {}

  // Returns the number of whole runs.
  int64_t wholeRuns() const { return size / run; }
  int64_t rest() const { return size % run; } // elements after the last whole run
  // Returns the runs of each chunk but the last, rounded up.
  int64_t runsOfChunk() const;

  int64_t size, chunks;
};

// The rows of a tensor in parts; each part is added up column by column.
struct RowParts {
  // Returns the number of parts for `rows` rows and `units` blocks of columns; 1 if a split would
  // only add a launch. Example: 8192 rows of 6 units have 86 parts of 96 rows.
  static int64_t partsOf(int64_t rows, int64_t units);

  // Returns the rows of each part but the last, rounded up.
  int64_t rowsOfPart() const;
  // Adds a row to the sums of the columns and returns the new sums.
  using Values = KernelBuilder::Values;
  using AddRow = llvm::function_ref<Values(mlir::Value row, mlir::ValueRange sums)>;
  using SumRows = llvm::function_ref<Values(mlir::ValueRange zeros, AddRow)>;
  // Calls `body` for each unit with its part, its first column, the lanes, and a function that adds
  // up the rows of the part: given zeros, it calls `addRow` with each row and the sums so far.
  // `width` is the number of columns of a unit.
  void forEachUnit(
      KernelBuilder &k, int64_t width,
      llvm::function_ref<void(mlir::Value part, mlir::Value column, Lanes, SumRows)> body) const;
  // Returns the number of units.
  int64_t range(int64_t width) const { return KernelBuilder::columnUnits(parts, columns, width); }
  // Returns the work of a unit of `width` columns.
  KernelUnit unit(int64_t width) const;

  int64_t rows, columns, parts = 1;
};

} // namespace dtc
