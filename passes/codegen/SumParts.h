// How a long sum is cut into parts, so that a GPU adds it up with all its multiprocessors.
#pragma once

#include "passes/codegen/KernelBuilder.h"

namespace dtc {

// What decides is the shape alone, so that every GPU adds up in the same order: the blocks are nearly four for each of the 132
// multiprocessors of an H200, and are more than two for each.
inline constexpr int64_t wantedSumBlocks = 512, enoughSumBlocks = 264;

// The columns of a unit: of a sum over rows as many as there are registers to add them up in, as the longer the pieces of rows that
// are read, the faster; of two sums at once fewer, but in parts, which
// GPUs alone have, whose threads have a vector of columns each.
inline constexpr int64_t rowSumColumns = 128, normParamColumns = 32, normPartColumns = 128;

// The elements of a tensor in chunks of whole runs: a warp adds up a run at once, a block 16 of them.
struct ChunkedSum {
  static constexpr int64_t run = 1024, runsAtOnce = 16;

  // Example: 7 million elements are 428 chunks of 16 runs, 80 million 489 of 160.
  static int64_t chunksOf(int64_t size);
  ChunkedSum(int64_t size, int64_t chunks) : size(size), chunks(chunks) {}

  int64_t wholeRuns() const { return size / run; }
  int64_t rest() const { return size % run; } // elements of the last run, where it is no whole one
  int64_t runsOfChunk() const;

  int64_t size, chunks;
};

// The rows of a tensor in parts, of which each is added up column by column.
struct RowParts {
  // 1 where more would only cost another launch; `units` are blocks of columns.
  // Example: 8192 rows of 6 units are 86 parts of 96 rows.
  static int64_t partsOf(int64_t rows, int64_t units);

  int64_t rowsOfPart() const;
  // Calls `body` for the columns of each unit, `width` of them, with what adds up the rows of its part: that calls `addRow` with each row, and
  // what has been added up so far, from zeros on.
  using Values = KernelBuilder::Values;
  using AddRow = llvm::function_ref<Values(mlir::Value row, mlir::ValueRange sums)>;
  using SumRows = llvm::function_ref<Values(mlir::ValueRange zeros, AddRow)>;
  void forEachUnit(
      KernelBuilder &k, int64_t width,
      llvm::function_ref<void(mlir::Value part, mlir::Value column, Lanes, SumRows)> body) const;
  int64_t range(int64_t width) const { return KernelBuilder::columnUnits(parts, columns, width); }
  KernelUnit unit(int64_t width) const;

  int64_t rows, columns, parts = 1;
};

} // namespace dtc
