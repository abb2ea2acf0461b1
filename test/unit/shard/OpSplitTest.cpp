// Tests which splits a rule allows.
#include "passes/shard/OpSplit.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace dtc {
namespace {

using graph::LoopKind;

// A small attention: 4 kv heads with `group` query heads each; q [heads, 8], k [kv heads, 8].
graph::OpRule grouped(int64_t group) {
  graph::OpRule rule;
  rule.loops = {{4, LoopKind::Parallel}, {group, LoopKind::Parallel}, {8, LoopKind::Whole}};
  rule.operands = {{{0, 1}, {2}}, {{0}, {2}}};
  rule.results = {{{0, 1}, {2}}};
  rule.zeroPreserving = true;
  return rule;
}

graph::OpRule rows(int64_t size, bool zeroPreserving) {
  graph::OpRule rule;
  rule.loops = {{size, LoopKind::Parallel}};
  rule.operands = {{{0}}};
  rule.results = {{{0}}};
  rule.zeroPreserving = zeroPreserving;
  return rule;
}

TEST(OpSplit, SplitsAnInnerLoopWhereTheOuterOneHasSingleSteps) {
  graph::OpRule rule = grouped(2);
  EXPECT_TRUE(canSplit(rule, {0, 1}, {4, 2}));
  EXPECT_FALSE(canSplit(rule, {1, 0}, {2, 4})); // the inner loop is outside, so parts are strided
  EXPECT_FALSE(canSplit(rule, {0, 1}, {2, 2})); // two kv heads on a rank
  EXPECT_FALSE(canSplit(rule, {split::kNone, 1}, {4, 2}));
  EXPECT_FALSE(canSplitLoop(rule, 1, 2));
  EXPECT_FALSE(canSplitLoop(rule, 2, 2)); // needs to be whole
}

TEST(OpSplit, PadsNoLoopThatSharesADim) {
  EXPECT_FALSE(canSplit(grouped(3), {0, 1}, {4, 2}));
  EXPECT_FALSE(canSplitLoop(grouped(2), 0, 8));
  EXPECT_TRUE(canSplitLoop(grouped(1), 0, 3)); // 4 heads, 2 on each of 3 ranks
}

TEST(OpSplit, SplitsALoopOverSeveralAxes) {
  EXPECT_TRUE(canSplit(rows(8, false), {0, 0}, {2, 4}));
  // the rows can be divided by 2, but not by 4
  EXPECT_FALSE(canSplit(rows(6, false), {0, 0}, {2, 2}));
  EXPECT_TRUE(canSplit(rows(6, true), {0, 0}, {2, 2}));
}

TEST(OpSplit, PlacesTensorsByTheLoopOfTheirDim) {
  graph::OpRule rule = grouped(2);
  EXPECT_EQ(operandUnder(rule, 0, {0, 1}),
            (Placement{AxisPlacement::shard(0), AxisPlacement::shard(0)}));
  EXPECT_EQ(operandUnder(rule, 1, {0, 1}),
            (Placement{AxisPlacement::shard(0), AxisPlacement::replicate()}));
}

} // namespace
} // namespace dtc
