// The rows that experts of a rank get in a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace dtc::rt {

// The rows of the layers of experts of a rank in a step, of all its micro-batches together.
struct ExpertCounts {
  size_t layers = 0, experts = 0; // of this rank
  std::vector<int64_t> rows = {}; // [layers, experts]
  int64_t rounds = 1; // the most exchanges of a layer in a micro-batch that brought this rank rows

  // Returns the rows of all experts of a layer.
  int64_t ofLayer(size_t layer) const {
    auto begin = rows.begin() + static_cast<ptrdiff_t>(layer * experts);
    return std::accumulate(begin, begin + static_cast<ptrdiff_t>(experts), int64_t(0));
  }
};

} // namespace dtc::rt
