// Merges the loops of a pointwise kernel where memory allows, then cuts them into units of work.
#include "passes/codegen/PointwiseLoops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace dtc;

namespace {

// Rows of minUnitPoints or more are cut only if there are fewer of them than this, too few to share
// among threads.
constexpr int64_t manyRows = 64;

} // namespace

int64_t PointwiseLoops::numRows() const {
  int64_t rows = 1;
  for (int64_t size : llvm::ArrayRef(sizes).drop_back(sizes.empty() ? 0 : 1))
    rows *= size;
  return rows;
}

PointwiseLoops dtc::mergeLoops(PointwiseLoops loops) {
  PointwiseLoops merged;
  merged.strides.resize(loops.strides.size());
  for (auto [loop, size] : llvm::enumerate(loops.sizes)) {
    if (size == 1)
      continue;
    bool joins = !merged.sizes.empty();
    for (auto [old, now] : llvm::zip_equal(loops.strides, merged.strides))
      joins = joins && now.back() == old[loop] * size;
    if (joins)
      merged.sizes.back() *= size;
    else
      merged.sizes.push_back(size);
    for (auto [old, now] : llvm::zip_equal(loops.strides, merged.strides)) {
      if (joins)
        now.pop_back();
      now.push_back(old[loop]);
    }
  }
  if (merged.sizes.empty()) {
    merged.sizes.push_back(1);
    for (auto &strides : merged.strides)
      strides.push_back(1);
  }
  return merged;
}

int64_t UnitSplit::range() const {
  if (numRows == 0 || numColumns == 0)
    return 0;
  return unitsPerRow > 1 ? numRows * unitsPerRow : llvm::divideCeilSigned(numRows, rowsPerUnit);
}

int64_t UnitSplit::points() const {
  int64_t most = unitsPerRow > 1 ? columnsPerUnit : std::min(numRows, rowsPerUnit) * numColumns;
  return std::max<int64_t>(most, 1);
}

UnitSplit dtc::splitUnits(int64_t numRows, int64_t numColumns) {
  UnitSplit split;
  split.numRows = numRows;
  split.numColumns = split.columnsPerUnit = numColumns;
  if (numRows == 0 || numColumns == 0)
    return split;
  if (numColumns < minUnitPoints) {
    split.rowsPerUnit = std::min(numRows, llvm::divideCeilSigned(minUnitPoints, numColumns));
  } else if (numRows < manyRows) {
    split.columnsPerUnit = minUnitPoints;
    split.unitsPerRow = llvm::divideCeilSigned(numColumns, minUnitPoints);
  }
  return split;
}
