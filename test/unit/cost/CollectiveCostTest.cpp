// Tests seconds of collectives between processes (MPI), computed by hand for small invented
// clusters, and the ranks of a group on each level.
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/Cost.h"
#include "compiler/price/cost/UsedLevels.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

LinkLevel level(LinkKind kind, int64_t groupSize, double bandwidth, double latency) {
  LinkLevel result;
  result.kind = kind;
  result.groupSize = groupSize;
  result.bandwidth = bandwidth;
  result.latency = latency;
  return result;
}

// The processes take 10 us before the first byte. Ethernet reaches 0.90 of its bandwidth.
Topology cluster(std::vector<LinkLevel> levels) {
  Topology topology;
  topology.device.deviceClass = DeviceClass::Cpu;
  topology.levels = levels;
  for (const LinkLevel &each : levels)
    topology.devicesPerNode *= each.groupSize;
  return topology;
}

// Returns 4 devices at 9 GB/s and 10 us per hop.
Topology four() { return cluster({level(LinkKind::Ethernet, 4, 10e9, 10e-6)}); }

// Returns 2 nodes of 4 devices: 36 GB/s and 5 us inside, 9 GB/s per device and 20 us between.
Topology twoNodes() {
  return cluster(
      {level(LinkKind::Ethernet, 4, 40e9, 5e-6), level(LinkKind::Ethernet, 2, 10e9, 20e-6)});
}

constexpr double tolerance = 1e-12; // seconds

} // namespace

TEST(RanksPerLevel, FollowsTheRankOrder) {
  Topology topology = *loadTopology("dgx-h100", 2);
  using Ranks = llvm::SmallVector<int64_t>;
  EXPECT_EQ(ranksPerLevel({{16, 1}}, topology), (Ranks{8, 2}));
  EXPECT_EQ(ranksPerLevel({{2, 8}}, topology), (Ranks{1, 2}));
  EXPECT_EQ(ranksPerLevel({{4, 1}}, topology), (Ranks{4, 1}));
  EXPECT_EQ(ranksPerLevel({{8, 2}}, topology), (Ranks{4, 2}));
  // cp 2 (innermost) x tp 2 x dp 4: the group of cp and dp.
  EXPECT_EQ(ranksPerLevel({{2, 1}, {4, 4}}, topology), (Ranks{4, 2}));
  EXPECT_EQ(ranksPerLevel({{1, 1}}, topology), (Ranks{1, 1}));
  // 6 ranks on nodes of 8: {6, 7, 8, 9, 10, 11} has 2 in one node and 4 in the next.
  EXPECT_EQ(ranksPerLevel({{6, 1}}, *loadTopology("dgx-h100", 3)), (Ranks{2, 3}));
  // Every 6th rank: 0, 6, 12, 18.
  EXPECT_EQ(ranksPerLevel({{4, 6}}, *loadTopology("dgx-h100", 3)), (Ranks{1, 4}));
}

TEST(CollectiveSeconds, OneLevelByHand) {
  RankGroup all{{4, 1}};
  Topology topology = four();
  // Ring: 2 x 3 hops, 2 x 3/4 x 36 MB at 9 GB/s = 6 ms.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 36e6, all, topology),
              6e-3 + 60e-6 + 10e-6, tolerance);
  // A small tensor uses a tree of depth 2, up and down, and 2 x 9 kB.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 9e3, all, topology),
              40e-6 + 2e-6 + 10e-6, tolerance);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllGather, 36e6, all, topology),
              3e-3 + 30e-6 + 10e-6, tolerance);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::ReduceScatter, 36e6, all, topology),
              3e-3 + 30e-6 + 10e-6, tolerance);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllToAll, 36e6, all, topology),
              3e-3 + 30e-6 + 10e-6, tolerance);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::Broadcast, 36e6, all, topology),
              4e-3 + 20e-6 + 10e-6, tolerance);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::SendRecv, 36e6, all, topology),
              4e-3 + 10e-6 + 10e-6, tolerance);
}

TEST(CollectiveSeconds, TwoLevelsByHand) {
  Topology topology = twoNodes();
  // One ring through 4 links per node: min(36, 4 x 9) GB/s. A lap has 6 hops inside and 1 between,
  // and 7/8 x 72 MB.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 72e6, {{8, 1}}, topology),
              2 * (1.75e-3 + 50e-6) + 10e-6, tolerance);
  // The group is inside a node.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 72e6, {{4, 1}}, topology),
              2 * (1.5e-3 + 15e-6) + 10e-6, tolerance);
  // All 4 groups communicate across nodes at the same time, each over its own 9 GB/s.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 72e6, {{2, 4}}, topology),
              2 * (4e-3 + 20e-6) + 10e-6, tolerance);
  // All-to-all: 4 of 8 parts leave the node, and 7 of 8 leave the device at 36 GB/s, which is
  // quicker.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllToAll, 72e6, {{8, 1}}, topology),
              72e6 * 4 / 8 / 9e9 + 3 * 5e-6 + 4 * 20e-6 + 10e-6, tolerance);
}

TEST(CollectiveSeconds, LevelByLevelWinsOnLatency) {
  // 512 nodes of 4: a ring has 2047 hops per lap, or 3 + 511 level by level. 1 kB uses the tree, 2
  // x (2 x 5 us + 9 x 20 us).
  Topology topology = cluster(
      {level(LinkKind::Ethernet, 4, 40e9, 5e-6), level(LinkKind::Ethernet, 512, 10e9, 20e-6)});
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 1e3, {{2048, 1}}, topology),
              380e-6 + 2e3 / 36e9 + 10e-6, 1e-9);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllGather, 2048, {{2048, 1}}, topology),
              3 * 5e-6 + 511 * 20e-6 + 2048 * 0.75 / 36e9 + 512 * 511.0 / 512 / 9e9 + 10e-6, 1e-9);
}

TEST(CollectiveSeconds, OversubscriptionDividesTheLink) {
  Topology topology = twoNodes();
  topology.levels[1].oversubscription = 2;
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 72e6, {{2, 4}}, topology),
              2 * (8e-3 + 20e-6) + 10e-6, tolerance);
}

TEST(CollectiveSeconds, TheSwitchReduces) {
  // InfiniBand of 100 GB/s reaches 97 in a ring, and 90 through the switch, where each byte is sent
  // once.
  Topology topology = cluster({level(LinkKind::InfiniBand, 8, 100e9, 1e-6)});
  double ring = collectiveSeconds(CollectiveKind::AllReduce, 900e6, {{8, 1}}, topology);
  EXPECT_NEAR(ring, 2 * (7e-6 + 0.875 * 900e6 / 97e9) + 10e-6, tolerance);
  topology.levels[0].inNetworkReduction = true;
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 900e6, {{8, 1}}, topology),
              10e-3 + 2e-6 + 10e-6, tolerance);
  // Reduce-scatter and all-gather are no quicker.
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllGather, 900e6, {{8, 1}}, topology),
              7e-6 + 0.875 * 900e6 / 97e9 + 10e-6, tolerance);
}

TEST(CollectiveSeconds, NothingCostsNothing) {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllToAll, CollectiveKind::SendRecv}) {
    EXPECT_EQ(collectiveSeconds(kind, 36e6, {{1, 1}}, four()), 0);
    EXPECT_EQ(collectiveSeconds(kind, 36e6, {}, four()), 0);
    EXPECT_EQ(collectiveSeconds(kind, 0, {{4, 1}}, four()), 0);
  }
  EXPECT_EQ(collectiveSeconds(CollectiveKind::AllReduce, 36e6, {{1, 1}}, *loadTopology("cpu")), 0);
}
