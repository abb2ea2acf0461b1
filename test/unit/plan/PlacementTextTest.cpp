// Tests the text of placements in plans.
#include "compiler/decide/plan/PlacementText.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

using Dims = llvm::SmallVector<int64_t, 2>;

TEST(PlacementText, SaysWhatAllAxesOfTensorParallelismDoOnce) {
  EXPECT_EQ(placementText({2}), "shard(2)");
  EXPECT_EQ(placementText({-1, -1}), "replicate");
  EXPECT_EQ(placementText({0, 1}), "shard(0)/shard(1)");
  EXPECT_EQ(placementText({0, -1}), "shard(0)/replicate");
}

TEST(PlacementText, ReadsWhatItWrites) {
  for (const Dims &dims : {Dims{2, 2}, Dims{-1, -1}, Dims{0, 1}, Dims{0, -1}})
    EXPECT_EQ(placementDimsOf(placementText(dims), 2), dims);
  EXPECT_EQ(placementDimsOf("shard(1)", 1), Dims{1});
}

TEST(PlacementText, RefusesOtherAxesAndOtherWords) {
  EXPECT_FALSE(placementDimsOf("shard(0)/shard(1)", 1));
  EXPECT_FALSE(placementDimsOf("shard(0)/shard(1)/shard(2)", 2));
  for (const char *text : {"", "/", "shard(0)/", "shard(-1)", "split(0)", "partial"})
    EXPECT_FALSE(placementDimsOf(text, 2)) << text;
}

} // namespace
} // namespace dtc
