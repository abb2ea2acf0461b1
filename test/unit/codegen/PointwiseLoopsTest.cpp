#include "passes/codegen/PointwiseLoops.h"

#include <gtest/gtest.h>

using namespace dtc;
using Sizes = llvm::SmallVector<int64_t>;

TEST(MergeLoops, JoinsDenseLoops) {
  PointwiseLoops merged = mergeLoops({{4, 8}, {{8, 1}, {8, 1}}});
  EXPECT_EQ(merged.sizes, (Sizes{32}));
  EXPECT_EQ(merged.strides[0], (Sizes{1}));
}

TEST(MergeLoops, KeepsTheLoopThatABiasRepeatsIn) {
  // x[2,3,8] + bias[8]: the two outer loops are joined.
  PointwiseLoops merged = mergeLoops({{2, 3, 8}, {{24, 8, 1}, {0, 0, 1}}});
  EXPECT_EQ(merged.sizes, (Sizes{6, 8}));
  EXPECT_EQ(merged.strides[0], (Sizes{8, 1}));
  EXPECT_EQ(merged.strides[1], (Sizes{0, 1}));
}

TEST(MergeLoops, KeepsOneLoopForASinglePoint) {
  PointwiseLoops merged = mergeLoops({{1, 1}, {{1, 1}}});
  EXPECT_EQ(merged.sizes, (Sizes{1}));
  EXPECT_EQ(mergeLoops({{}, {{}}}).sizes, (Sizes{1}));
}

TEST(SplitUnits, GivesEveryUnitAThousandPointsWhereThereAreAsMany) {
  EXPECT_EQ(splitUnits(1, 5).range(), 1);
  EXPECT_EQ(splitUnits(1, 1024).range(), 1);
  EXPECT_EQ(splitUnits(1, 1025).range(), 2);
  EXPECT_EQ(splitUnits(4096, 3072).range(), 4096); // a row each
  EXPECT_EQ(splitUnits(4096, 16).range(), 64);     // 64 rows each
  EXPECT_EQ(splitUnits(2, 10000).range(), 20);     // too few rows to divide them as a whole
  EXPECT_EQ(splitUnits(0, 7).range(), 0);
  EXPECT_EQ(splitUnits(1, 5).points(), 5);
  EXPECT_EQ(splitUnits(1, 1025).points(), 1024);
  EXPECT_EQ(splitUnits(4096, 3072).points(), 3072);
  EXPECT_EQ(splitUnits(4096, 16).points(), 1024);
  EXPECT_EQ(splitUnits(3, 16).points(), 48); // fewer rows than a unit could have
  EXPECT_EQ(splitUnits(0, 7).points(), 1);
}
