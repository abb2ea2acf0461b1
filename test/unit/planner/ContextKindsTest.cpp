// Tests which kinds of context parallelism rule others out, on costs computed by hand.
#include "compiler/search/planner/ContextKinds.h"

#include <gtest/gtest.h>

namespace dtc {
namespace {

class ContextKindsTest : public testing::Test {
protected:
  // A ring that sends for 1 s forward and 2 s backward, half of it hidden: a pass is 0.5 s and 1 s
  // longer, and 0.1 s and 0.2 s more if the hidden transfers slow compute.
  ContextKindsTest() {
    mesh.cp = 4;
    ring = swapping(0, 0);
    ring.blocks[0].forwardCp = 1;
    ring.blocks[0].backwardCp = 2;
    ring.overlap.cp = 0.5;
    ring.overlap.slowdown = 1.2;
  }

  ModelCost swapping(double forward, double backward) const {
    ModelCost cost;
    cost.overlap.cp = 0.5;
    cost.overlap.slowdown = 1.2;
    BlockCost &block = cost.blocks.emplace_back();
    block.forwardHeads = forward;
    block.backwardHeads = backward;
    return cost;
  }

  bool isRuledOut(ContextKind kind, const ModelCost &cost) {
    mesh.contextKind = kind;
    mesh.contextInner = kind == ContextKind::Both ? 2 : 1;
    return kinds.isRuledOut(mesh, cost);
  }

  Decisions mesh;
  ModelCost ring;
  ContextKinds kinds;
};

constexpr ContextKind kRing = ContextKind::Ring, kSwap = ContextKind::AllToAll,
                      kGather = ContextKind::AllGather;

TEST_F(ContextKindsTest, AreRuledOutByThoseThatAreNeverWorse) {
  EXPECT_FALSE(isRuledOut(kRing, ring));
  EXPECT_TRUE(isRuledOut(kSwap, swapping(0.6, 1.2)));
  EXPECT_FALSE(isRuledOut(kSwap, swapping(0.59, 1.2))); // longer in the forward pass
  EXPECT_FALSE(isRuledOut(kSwap, swapping(0.6, 1.19)));
  EXPECT_TRUE(isRuledOut(kGather, swapping(0.59, 1.2))); // ruled out by the second kind
  EXPECT_TRUE(isRuledOut(kGather, swapping(0.7, 1.19))); // ruled out by the third kind
}

// ZeRO's gathers can hide behind the time that compute is slowed. This gain does not count for the
// ring.
TEST_F(ContextKindsTest, CountOnlyWhatIsExposedOfWhatTheyMayRuleOut) {
  EXPECT_FALSE(isRuledOut(kSwap, swapping(0.55, 1.1)));
  EXPECT_FALSE(isRuledOut(kRing, ring));
  kinds = {};
  EXPECT_FALSE(isRuledOut(kSwap, swapping(0.5, 1)));
  EXPECT_TRUE(isRuledOut(kRing, ring));
}

TEST_F(ContextKindsTest, NeedNoMoreMemory) {
  ring.blocks[0].transient = 8;
  ring.blocks[0].forwardTransient = 4;
  EXPECT_FALSE(isRuledOut(kRing, ring));
  ModelCost other = swapping(1, 2);
  other.blocks[0].transient = 8;
  other.blocks[0].forwardTransient = 4;
  EXPECT_TRUE(isRuledOut(kSwap, other));
  other.blocks[0].forwardTransient = 3;
  EXPECT_FALSE(isRuledOut(kSwap, other));
  other.blocks[0].forwardTransient = 4;
  other.blocks[0].transient = 7;
  EXPECT_FALSE(isRuledOut(kGather, other));
}

// Two groups have buffers in place of one.
TEST_F(ContextKindsTest, OfTwoLevelsRuleOutTheirOwnAlone) {
  EXPECT_FALSE(isRuledOut(ContextKind::Both, swapping(0.1, 0.2)));
  EXPECT_FALSE(isRuledOut(kSwap, swapping(0.2, 0.4)));
  EXPECT_TRUE(isRuledOut(ContextKind::Both, swapping(0.1, 0.2)));
}

TEST_F(ContextKindsTest, StayWhereHidingCostsMoreThanItSpares) {
  ring.overlap.slowdown = 2.5;
  ModelCost other = swapping(10, 20);
  other.overlap.slowdown = 2.5;
  EXPECT_FALSE(isRuledOut(kRing, ring));
  EXPECT_FALSE(isRuledOut(kSwap, other));
}

TEST_F(ContextKindsTest, AreOfOneMeshAndPlacement) {
  EXPECT_FALSE(isRuledOut(kRing, ring));
  mesh.placement = 1;
  EXPECT_FALSE(isRuledOut(kSwap, swapping(1, 2)));
  mesh.placement = 0;
  EXPECT_TRUE(isRuledOut(kSwap, swapping(1, 2)));
  mesh.microBatch = 2;
  EXPECT_FALSE(isRuledOut(kSwap, swapping(1, 2)));
}

TEST_F(ContextKindsTest, LookAtAllPartsOnAllDevices) {
  ModelCost other = swapping(1, 2);
  ring.kinds.push_back(ring);
  other.kinds.push_back(other);
  EXPECT_FALSE(isRuledOut(kRing, ring));
  EXPECT_TRUE(isRuledOut(kSwap, other));
  other.kinds[0].blocks[0].backwardHeads = 1;
  EXPECT_FALSE(isRuledOut(kSwap, other));
  other = swapping(1, 2);
  other.kinds.push_back(other);
  kinds = {};
  ring.head.forwardHeads = 0.1;
  EXPECT_FALSE(isRuledOut(kRing, ring));
  EXPECT_FALSE(isRuledOut(kSwap, other));
}

} // namespace
} // namespace dtc
