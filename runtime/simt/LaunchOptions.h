// Sizes and options of a launch.
#pragma once

#include <cstdint>

namespace dtc::simt {

// A size or an index in blocks or threads, by dimension.
struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// Options of a launch.
struct Options {
  uint64_t seed = 0;  // seed for the order of threads and blocks; 0 runs them in order
  bool checks = true; // checks memory accesses; barriers and operations of warps are always checked
  uint64_t maxSteps =
      uint64_t{1} << 36; // limit per launch, which ends a kernel that would never end
};

} // namespace dtc::simt
