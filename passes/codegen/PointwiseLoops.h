// The loops of a pointwise kernel: merged where memory allows, then cut into units of work.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dtc {

// Loops, outermost first, and the distance that each buffer moves per step of each loop, in
// elements (0: the buffer repeats).
struct PointwiseLoops {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides; // per buffer, one stride per loop

  int64_t numRows() const; // points of all loops except the innermost
  // Returns the points of the innermost loop; 1 if there is none.
  int64_t numColumns() const { return sizes.empty() ? 1 : sizes.back(); }
};

// Merges neighbouring loops that all buffers walk as if they were one, and drops loops of one step.
// Example: x[4,8], y[4,8] merge to one loop of 32; with bias[8] both loops remain.
PointwiseLoops mergeLoops(PointwiseLoops loops);

// Points in a unit of work: 4 KiB of f32 per stream, enough to make the cost of a hand-over to a
// thread negligible.
inline constexpr int64_t minUnitPoints = 1024;

// The division of the iteration space into units: whole rows, or blocks of columns of one row.
struct UnitSplit {
  int64_t numRows = 1, numColumns = 1;
  int64_t rowsPerUnit = 1; // more than 1 only if unitsPerRow is 1
  int64_t unitsPerRow = 1;
  int64_t columnsPerUnit = 1;

  int64_t range() const;  // number of units; 0 if there are no points
  int64_t points() const; // points of a unit, at least 1
};

// Cuts an iteration space into units. A unit has at least minUnitPoints if the space does, so that
// starting it costs little.
UnitSplit splitUnits(int64_t numRows, int64_t numColumns);

} // namespace dtc
