// The division of a launch into blocks of threads on a GPU.
#pragma once

#include "runtime/format/dte_generated.h"

#include <cstdint>
#include <string>

namespace dtc::format {

// Limits of every CUDA device.
inline constexpr uint64_t maxBlocksX = (uint64_t(1) << 31) - 1, maxBlocksY = 65535,
                          maxBlocksZ = 65535;
inline constexpr uint32_t maxBlockThreads = 1024, warpThreads = 32;

// The grid of a launch. Block (bx, by, bz) does unit (bz * y + by) * x + bx, if that is below the
// range, with all of its threads; they combine their results where the kernel says so.
struct Grid {
  uint32_t x = 1, y = 1, z = 1;
  uint32_t threads = warpThreads; // threads of a block: whole warps

  bool operator==(const Grid &other) const = default;
};

// Returns the number of threads of a block of `kernel`, which has been verified.
uint32_t blockThreads(const Kernel &kernel);

// Returns the grid of `range` units of `kernel`, both of which have been verified.
// Example: 3000 units of 768 points are 3000 x 1 x 1 blocks of 768 threads; of 50257 points, of
// 1024.
Grid gridOf(const Kernel &kernel, uint64_t range);
// Returns the grid of a kernel whose blocks have `threads` threads.
Grid gridOf(uint32_t threads, uint64_t range);

// Kernels that do several launches at once (Kernel.merged): threads of a block, and units.
inline constexpr uint32_t mergedThreads = 256, mergedUnits = 4;

// Returns a grid in words: "3000 blocks of 768 threads", "2147483647x2x1 blocks of 32 threads".
std::string describe(const Grid &grid);

} // namespace dtc::format
