// Boxes of indices; forEachRun (runtime/base/TensorSpec.h) walks a box in two arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtc::rt {

// Indices [begin, begin + extent) of each dim; for a number without dims, that number.
struct Box {
  std::vector<uint64_t> begin, extent;
};

// Computes the intersection of two boxes of as many dims; returns false if it is empty.
bool intersect(const Box &a, const Box &b, Box &both);

// Returns true if the boxes, each within `shape` and not empty, hold every index exactly once;
// reorders them. Takes long only for boxes that were made to take long.
bool coverOnce(std::span<const uint64_t> shape, std::vector<Box> &boxes);

} // namespace dtc::rt
