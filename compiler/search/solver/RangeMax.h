// Returns the largest entry of any range of a constant array, in constant time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace dtc::solver {

// Holds in levels[l][i] the largest of 2^l entries from i on. Example: RangeMax({3, 1, 2}).query(1,
// 3) is 2.
class RangeMax {
public:
  explicit RangeMax(std::vector<int64_t> array) {
    levels.push_back(std::move(array));
    for (size_t width = 1; 2 * width <= levels[0].size(); width *= 2) {
      const std::vector<int64_t> &below = levels.back();
      std::vector<int64_t> level(levels[0].size() - 2 * width + 1);
      for (size_t i = 0; i < level.size(); ++i)
        level[i] = std::max(below[i], below[i + width]);
      levels.push_back(std::move(level));
    }
  }

  // Returns the largest of the entries begin .. end - 1. `begin` must be less than `end`.
  int64_t query(int32_t begin, int32_t end) const {
    int level = std::bit_width(static_cast<uint32_t>(end - begin)) - 1;
    return std::max(levels[level][begin], levels[level][end - (1 << level)]);
  }

private:
  std::vector<std::vector<int64_t>> levels;
};

} // namespace dtc::solver
