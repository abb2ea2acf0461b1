// Tests CUDA grids of launches: every unit is in one block, and no size is above the limits of a
// device.
#include "runtime/format/Grid.h"

#include "runtime/format/Verify.h"

#include <gtest/gtest.h>

namespace dtc::format {
namespace {

Grid gridFor(uint64_t range, uint64_t points, uint32_t threads = 0) {
  flatbuffers::FlatBufferBuilder builder;
  KernelT kernel;
  kernel.symbol = "kernel_0";
  kernel.unit_points = points;
  kernel.threads = threads;
  builder.Finish(CreateKernel(builder, &kernel));
  return gridOf(*flatbuffers::GetRoot<Kernel>(builder.GetBufferPointer()), range);
}

TEST(Grid, HasABlockPerUnitAndWholeWarps) {
  EXPECT_EQ(gridFor(3000, 768), (Grid{3000, 1, 1, 768}));
  EXPECT_EQ(gridFor(3000, 50257), (Grid{3000, 1, 1, 1024}));
  EXPECT_EQ(gridFor(1, 1), (Grid{1, 1, 1, 32}));
  EXPECT_EQ(gridFor(7, 33), (Grid{7, 1, 1, 64}));
  EXPECT_EQ(describe(gridFor(3000, 768)), "3000 blocks of 768 threads");
  EXPECT_EQ(describe(gridFor(1, 1)), "1 block of 32 threads");
}

TEST(Grid, TakesTheThreadsThatTheKernelWasMadeFor) {
  EXPECT_EQ(gridFor(3000, 50257, 256), (Grid{3000, 1, 1, 256}));
  EXPECT_EQ(gridFor(5, 1, 1024), (Grid{5, 1, 1, 1024}));
}

TEST(Grid, StaysWithinTheLimitsAndCoversTheRange) {
  for (uint64_t range : {maxBlocksX - 1, maxBlocksX, maxBlocksX + 1, 2 * maxBlocksX + 5,
                         maxBlocksX * maxBlocksY, maxBlocksX * maxBlocksY + 1, maxArenaBytes}) {
    Grid grid = gridFor(range, 100);
    EXPECT_GE(grid.x, 1u);
    EXPECT_LE(grid.x, maxBlocksX);
    EXPECT_LE(grid.y, maxBlocksY);
    EXPECT_LE(grid.z, maxBlocksZ);
    EXPECT_GE(uint64_t(grid.x) * grid.y * grid.z, range) << range;
    EXPECT_LT(uint64_t(grid.x) * grid.y * (grid.z - 1), range) << "no layer is empty";
    EXPECT_EQ(grid.threads, 128u);
  }
  EXPECT_EQ(describe(gridFor(maxBlocksX + 1, 32)), "2147483647x2x1 blocks of 32 threads");
}

} // namespace
} // namespace dtc::format
