#include "runtime/format/Grid.h"

#include "runtime/base/Text.h"
#include "runtime/format/Limits.h"

#include <algorithm>

namespace dtc::format {

static_assert(maxArenaBytes / maxBlocksX < maxBlocksY * maxBlocksZ, "no range is too large");

static uint64_t divideUp(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

uint32_t blockThreads(const Kernel &kernel) {
  if (kernel.threads() != 0)
    return kernel.threads();
  uint64_t points = std::min<uint64_t>(kernel.unit_points(), maxBlockThreads);
  return static_cast<uint32_t>(divideUp(points, warpThreads) * warpThreads);
}

Grid gridOf(const Kernel &kernel, uint64_t range) { return gridOf(blockThreads(kernel), range); }

Grid gridOf(uint32_t threads, uint64_t range) {
  Grid grid;
  uint64_t x = std::min(range, maxBlocksX), rows = divideUp(range, x);
  uint64_t z = divideUp(rows, maxBlocksY);
  grid.x = static_cast<uint32_t>(x);
  grid.y = static_cast<uint32_t>(divideUp(rows, z));
  grid.z = static_cast<uint32_t>(z);
  grid.threads = threads;
  return grid;
}

std::string describe(const Grid &grid) {
  std::string blocks = grid.y * grid.z == 1 ? text(grid.x) : text(grid.x, "x", grid.y, "x", grid.z);
  return text(blocks, blocks == "1" ? " block of " : " blocks of ", grid.threads, " threads");
}

} // namespace dtc::format
