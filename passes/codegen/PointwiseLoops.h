// The loops of a pointwise kernel: merged where memory allows, then cut into units of work.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dtc {

// Loops, outermost first, and how far each buffer moves per step of each loop, in elements (0: it
// repeats).
struct PointwiseLoops {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides; // of each buffer, one per loop

  int64_t numRows() const; // points of all loops but the innermost
  int64_t numColumns() const { return sizes.empty() ? 1 : sizes.back(); }
};

// Merges neighbouring loops that all buffers step through as if they were one, and drops loops of
// one step. Example: x[4,8], y[4,8] merge to one loop of 32; with bias[8] the two loops stay.
PointwiseLoops mergeLoops(PointwiseLoops loops);

// Points in a unit of work: 4 KiB of f32 a stream, enough that handing it to a thread does not show.
inline constexpr int64_t minUnitPoints = 1024;

// How the iteration space is cut into units: whole rows, or blocks of one row's columns.
struct UnitSplit {
  int64_t numRows = 1, numColumns = 1;
  int64_t rowsPerUnit = 1; // more than 1 only if unitsPerRow is 1
  int64_t unitsPerRow = 1;
  int64_t columnsPerUnit = 1;

  int64_t range() const;  // number of units; 0 when there are no points
  int64_t points() const; // of a unit, at least 1
};

// A unit has minUnitPoints or more where there are as many, so that starting it costs little.
UnitSplit splitUnits(int64_t numRows, int64_t numColumns);

} // namespace dtc
