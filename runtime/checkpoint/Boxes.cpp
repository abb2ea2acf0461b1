#include "runtime/checkpoint/Boxes.h"

#include "runtime/base/TensorSpec.h"

#include <algorithm>

namespace dtc::rt {

bool intersect(const Box &a, const Box &b, Box &both) {
  size_t dims = a.begin.size();
  both.begin.resize(dims);
  both.extent.resize(dims);
  for (size_t dim = 0; dim < dims; ++dim) {
    uint64_t begin = std::max(a.begin[dim], b.begin[dim]);
    uint64_t end = std::min(a.begin[dim] + a.extent[dim], b.begin[dim] + b.extent[dim]);
    if (begin >= end)
      return false;
    both.begin[dim] = begin;
    both.extent[dim] = end - begin;
  }
  return true;
}

// Returns true if no two boxes share an index: in order of their begins along the first dim, only
// boxes that begin before one ends can overlap it.
static bool areApart(std::vector<Box> &boxes) {
  std::sort(boxes.begin(), boxes.end(),
            [](const Box &a, const Box &b) { return a.begin < b.begin; });
  Box both;
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t j = i + 1; j < boxes.size(); ++j) {
      if (!boxes[i].begin.empty() && boxes[j].begin[0] >= boxes[i].begin[0] + boxes[i].extent[0])
        break;
      if (intersect(boxes[i], boxes[j], both))
        return false;
    }
  return true;
}

bool coverOnce(std::span<const uint64_t> shape, std::vector<Box> &boxes) {
  uint64_t whole = elementCount(shape), found = 0;
  for (const Box &box : boxes) {
    uint64_t elements = elementCount(box.extent);
    if (elements > whole - found)
      return false;
    found += elements;
  }
  return found == whole && areApart(boxes);
}

} // namespace dtc::rt
