// Tests the node counts that may train faster than all nodes.
#include "compiler/search/planner/FewerNodes.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "gtest/gtest.h"

namespace dtc {
namespace {

using Counts = std::vector<int64_t>;

Counts countsOf(int64_t nodes, int64_t batch, int64_t least = 1, const Pins &pins = {}) {
  return fewerNodeCounts(*loadTopology("dgx-h100", nodes), batch, least, pins);
}

// Nodes have 8 devices and the batch is 512. Axes other than dp have to take 9 ranks of 72 devices
// and none of 64; they take 25 of 100 nodes, and 3 of 96 nodes.
TEST(FewerNodeCounts, LeaveLessToOtherAxes) {
  EXPECT_EQ(countsOf(9, 512), (Counts{8, 4, 2, 1}));
  EXPECT_EQ(countsOf(9, 576), (Counts{4, 2, 1})); // 72 divides it
  EXPECT_EQ(countsOf(100, 512), (Counts{96, 64, 50, 25, 12, 6, 3, 1}));
}

// No axis can have 127 ranks, but one may have 63 or 125.
TEST(FewerNodeCounts, HaveSmallerPrimeFactors) {
  Counts counts = countsOf(127, 512, 110);
  EXPECT_EQ(counts, (Counts{126, 125, 124, 120, 112}));
}

TEST(FewerNodeCounts, EndWhereNoPlanCanBeFaster) {
  EXPECT_EQ(countsOf(100, 512, 60), (Counts{96, 64}));
  EXPECT_EQ(countsOf(1, 512), Counts());
  EXPECT_EQ(fewerNodeCounts(*loadTopology("mixed-a100-h100"), 512, 1, {}), Counts());
}

// Pinned axes divide the devices of 16 and 8 nodes of 8 devices, and not those of 18.
TEST(FewerNodeCounts, AreThoseThatPinnedAxesDivide) {
  Pins pins;
  pins.fix(&Decisions::dp, 64);
  EXPECT_EQ(countsOf(18, 512, 1, pins), (Counts{16, 8}));
  pins.fix(&Decisions::tp, 3); // 192 devices
  EXPECT_EQ(countsOf(18, 512, 1, pins), Counts());
  EXPECT_EQ(countsOf(25, 512, 1, pins), Counts{24});
  // 16 nodes have 128 devices, twice as many as dp and tp take: no axis is open for the rest.
  pins.fix(&Decisions::tp, 1);
  pins.fix(&Decisions::pp, 1);
  pins.fix(&Decisions::cp, 1);
  EXPECT_EQ(countsOf(18, 512, 1, pins), Counts{8});
}

TEST(BatchesForAll, AreTheNearestThatDivide) {
  Plan plan;
  plan.globalBatch = 512;
  plan.decisions.dp = 64;
  plan.decisions.microBatch = 1;
  EXPECT_EQ(batchesForAll(plan, 72), (Counts{504, 576}));
  plan.decisions.microBatch = 8; // 576 samples on all ranks at once
  EXPECT_EQ(batchesForAll(plan, 72), Counts{576});
  plan.decisions.tp = 16;
  EXPECT_EQ(batchesForAll(plan, 72), Counts());
}

} // namespace
} // namespace dtc
