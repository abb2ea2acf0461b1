// The launch of a hand-written kernel by the host.
#pragma once

#include "kernels/common/ElementType.h"

#include <cstdint>
#include <string>

namespace dtc::cuda {

// A launch of gridX x gridY blocks of `threads` x 1 x 1 threads, with `sharedBytes` of dynamic
// shared memory: at most 160 KiB, of which more than 48 must be requested (cuFuncSetAttribute). The
// kernel takes one parameter by value: the plain struct that the launch was planned with.
struct Launch {
  std::string kernel;
  uint32_t gridX = 1, gridY = 1;
  uint32_t threads = 0;
  uint32_t sharedBytes = 0;

  bool operator==(const Launch &other) const = default;
};

inline constexpr int64_t kMaxGridX = 0x7FFFFFFF, kMaxGridY = 65535;

} // namespace dtc::cuda
