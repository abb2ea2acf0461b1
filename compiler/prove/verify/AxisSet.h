// Sets of mesh axes.
#pragma once

#include <cstdint>

namespace dtc {

// Mesh axes as bits: bit i is axis i. A file has 16 at most.
using AxisSet = uint16_t;

// Every axis that a mesh can have.
inline constexpr AxisSet kAllAxes = 0xffff;

// Returns the axes of `axes` that are not in `others`.
constexpr AxisSet axesWithout(AxisSet axes, AxisSet others) {
  return static_cast<AxisSet>(axes & ~others);
}

} // namespace dtc
