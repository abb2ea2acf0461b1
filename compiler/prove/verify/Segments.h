// The memory of a program cut wherever something of it begins or ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dtc {

// Segments [first, last) of consecutive bytes.
struct SegmentSpan {
  uint32_t first = 0, last = 0;
};

// Add all ranges, then cut(); of those ranges find() gives the segments.
// Example: ranges 0-8 and 4-16 give segments 0-4, 4-8, 8-16.
class Segments {
public:
  // Adds the byte range [begin, end). Call before cut().
  void add(int64_t begin, int64_t end) {
    bounds.push_back(begin);
    bounds.push_back(end);
  }
  // Cuts the memory at the bounds of all added ranges.
  void cut() {
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  }
  // Returns the number of segments.
  size_t size() const { return bounds.empty() ? 0 : bounds.size() - 1; }
  // Returns the first byte of a segment.
  int64_t begin(uint32_t segment) const { return bounds[segment]; }
  // Returns the byte behind a segment.
  int64_t end(uint32_t segment) const { return bounds[segment + 1]; }
  // Returns the segments of the range [begin, end), which has been added.
  SegmentSpan find(int64_t begin, int64_t end) const {
    auto first = std::lower_bound(bounds.begin(), bounds.end(), begin);
    auto last = std::lower_bound(first, bounds.end(), end);
    return {static_cast<uint32_t>(first - bounds.begin()),
            static_cast<uint32_t>(last - bounds.begin())};
  }

private:
  std::vector<int64_t> bounds;
};

} // namespace dtc
