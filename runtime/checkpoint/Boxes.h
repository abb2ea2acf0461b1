// Boxes of indices, and how one array's part lies in another.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dtc::rt {

// Indices [begin, begin + extent) of each dim; of a number without dims, that number.
struct Box {
  std::vector<uint64_t> begin, extent;
};

// What two boxes of as many dims share; false where that is nothing.
bool intersect(const Box &a, const Box &b, Box &both);

// An array of `shape`, row-major, in which a box begins at index `at`.
struct BoxPlace {
  std::span<const uint64_t> shape;
  std::vector<uint64_t> at;
};

// Calls run(from, to, length) for the longest pieces of a box of `extent` that are contiguous in two
// arrays: elements [from, from + length) of the one are [to, to + length) of the other. In rising
// order of both. Every extent is at least 1, and the box lies within both arrays.
// Example: extent {2, 2}, from shape {2, 4} at {0, 2}, to shape {2, 2} at {0, 0} gives (2, 0, 2) and
// (6, 2, 2).
void forEachRun(std::span<const uint64_t> extent, const BoxPlace &from, const BoxPlace &to,
                const std::function<void(uint64_t, uint64_t, uint64_t)> &run);

// Whether the boxes, each within `shape` and not empty, hold every index exactly once; they are put
// in another order. Takes longer than a moment only for boxes that were made to take long.
bool coverOnce(std::span<const uint64_t> shape, std::vector<Box> &boxes);

} // namespace dtc::rt
