// Boxes of indices; how one lies in two arrays is said by forEachRun (runtime/base/TensorSpec.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtc::rt {

// Indices [begin, begin + extent) of each dim; of a number without dims, that number.
struct Box {
  std::vector<uint64_t> begin, extent;
};

// What two boxes of as many dims share; false where that is nothing.
bool intersect(const Box &a, const Box &b, Box &both);

// Whether the boxes, each within `shape` and not empty, hold every index exactly once; they are put
// in another order. Takes longer than a moment only for boxes that were made to take long.
bool coverOnce(std::span<const uint64_t> shape, std::vector<Box> &boxes);

} // namespace dtc::rt
