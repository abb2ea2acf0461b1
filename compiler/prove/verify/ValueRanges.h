// The values that consecutive ranges of bytes of the arena hold.
#pragma once

#include "compiler/prove/verify/Value.h"

#include <cstddef>
#include <vector>

namespace dtc {

// Bytes [begin, end) of the arena, which hold one value.
struct ValueRange {
  int64_t begin = 0, end = 0;
  Value value;
};

// The ranges that an instruction has read, in the order of reading.
class ValueRanges {
public:
  // Adds a range. It joins the last one where that ends at its begin with the same value.
  void append(const ValueRange &range);
  // Orders the ranges by address.
  void sort();
  // Returns the join of all ranges.
  Value joined() const;
  // Returns the join of the ranges that have bytes of [begin, end); the ranges ascend.
  Value joined(int64_t begin, int64_t end) const;

  // Returns the number of ranges.
  size_t size() const { return ranges.size(); }
  // Returns the first range, of at least one.
  const ValueRange &front() const { return ranges.front(); }
  // Returns the ranges from the first one on, for loops.
  std::vector<ValueRange>::const_iterator begin() const { return ranges.begin(); }
  // Returns the end of the ranges.
  std::vector<ValueRange>::const_iterator end() const { return ranges.end(); }

private:
  std::vector<ValueRange> ranges;
};

} // namespace dtc
