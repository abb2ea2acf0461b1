// Tests the ranks at the positions of a mesh.
#include "compiler/decide/plan/MeshRanks.h"

#include "gtest/gtest.h"

using namespace dtc;

namespace {

using Ranks = std::vector<uint32_t>;

Plan planOf(int64_t pp, int64_t dp, int64_t tp, AxisOrder order,
            std::vector<std::vector<int64_t>> stages) {
  Plan plan;
  plan.decisions.pp = pp;
  plan.decisions.dp = dp;
  plan.decisions.tp = tp;
  plan.decisions.order = order;
  for (std::vector<int64_t> &ranks : stages)
    plan.stages.emplace_back().ranks = std::move(ranks);
  return plan;
}

TEST(MeshRanks, AreNoneInMegatronsOrder) {
  EXPECT_EQ(meshRanks(planOf(2, 2, 2, kMegatronOrder, {{0, 1, 2, 3}, {4, 5, 6, 7}}),
                      {"pp", "dp", "tp"}, {2, 2, 2}),
            Ranks());
  EXPECT_EQ(meshRanks(planOf(1, 4, 1, {'p', 'd', 'c', 't'}, {{0, 1, 2, 3}}), {"dp", "tp"}, {4, 1}),
            Ranks());
}

TEST(MeshRanks, FollowTheOrderOfAxes) {
  EXPECT_EQ(meshRanks(planOf(2, 2, 2, {'t', 'p', 'd', 'c'}, {{0, 1, 4, 5}, {2, 3, 6, 7}}),
                      {"pp", "dp", "tp"}, {2, 2, 2}),
            (Ranks{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(
      meshRanks(planOf(1, 2, 3, {'d', 't', 'c', 'p'}, {{0, 1, 2, 3, 4, 5}}), {"dp", "tp"}, {2, 3}),
      (Ranks{0, 2, 4, 1, 3, 5}));
}

// Parts of one axis stay together, with the last one innermost.
TEST(MeshRanks, KeepPartsOfAnAxisTogether) {
  EXPECT_EQ(meshRanks(planOf(1, 2, 4, {'d', 't', 'c', 'p'}, {{0, 1, 2, 3, 4, 5, 6, 7}}),
                      {"dp", "tp.kv", "tp.group"}, {2, 2, 2}),
            (Ranks{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(meshRanks(planOf(1, 4, 2, {'d', 't', 'c', 'p'}, {{0, 1, 2, 3, 4, 5, 6, 7}}),
                      {"dp.groups", "dp.shards", "tp"}, {2, 2, 2}),
            (Ranks{0, 4, 1, 5, 2, 6, 3, 7}));
}

// If devices differ, the first stage may have other ranks than the first ones.
TEST(MeshRanks, AreThoseThatThePlanGivesStages) {
  EXPECT_EQ(
      meshRanks(planOf(2, 2, 1, kMegatronOrder, {{2, 3}, {0, 1}}), {"pp", "dp", "tp"}, {2, 2, 1}),
      (Ranks{2, 3, 0, 1}));
}

} // namespace
