// Tests collectives over two kinds of devices, computed by hand: parts of processes with 9 GB/s and
// 10 us per hop, and 36 GB/s and 5 us per hop, joined by 18 GB/s and 50 us. Ethernet reaches 0.90
// of its bandwidth, and a collective of processes starts after 10 us.
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/Cost.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace dtc;

namespace {

LinkLevel level(int64_t groupSize, double bandwidth, double latency) {
  LinkLevel result;
  result.kind = LinkKind::Ethernet;
  result.groupSize = groupSize;
  result.bandwidth = bandwidth;
  result.latency = latency;
  return result;
}

Topology part(const LinkLevel &own) {
  Topology topology;
  topology.device.deviceClass = DeviceClass::Cpu;
  topology.levels = {own};
  topology.devicesPerNode = own.groupSize;
  return topology;
}

// Returns ranks 0 to 3 and 4 to 7 as parts.
Topology mixed() {
  Topology topology;
  topology.parts = {part(level(4, 10e9, 10e-6)), part(level(4, 40e9, 5e-6))};
  topology.partLinks = {{0, 1, level(2, 20e9, 50e-6)}};
  return topology;
}

double seconds(CollectiveKind kind, double bytes, const RankGroup &group, int64_t rank = 0) {
  return collectiveSeconds(kind, bytes, group, mixed(), rank);
}

constexpr double tolerance = 1e-12; // seconds

} // namespace

// A group within one part costs what it costs in that part.
TEST(MixedCost, OfOnePart) {
  EXPECT_NEAR(seconds(CollectiveKind::AllGather, 36e6, {{4, 1}}, 0),
              collectiveSeconds(CollectiveKind::AllGather, 36e6, {{4, 1}}, mixed().parts[0]),
              tolerance);
  EXPECT_NEAR(seconds(CollectiveKind::AllGather, 36e6, {{4, 1}}, 4),
              collectiveSeconds(CollectiveKind::AllGather, 36e6, {{4, 1}}, mixed().parts[1]),
              tolerance);
  EXPECT_EQ(seconds(CollectiveKind::AllGather, 36e6, {{4, 1}}, 5),
            seconds(CollectiveKind::AllGather, 36e6, {{4, 1}}, 4));
}

// One ring of 8: 7/8 of the bytes pass every link. The slow part's 9 GB/s set the pace, and its 3
// hops are waited for.
TEST(MixedCost, OfAllRanks) {
  double wanted = 50e-6 + 10e-6 + 3 * 10e-6 + 72e6 * 7 / 8 / 9e9;
  EXPECT_NEAR(seconds(CollectiveKind::AllGather, 72e6, {{8, 1}}), wanted, tolerance);
  // An all-reduce goes around twice.
  EXPECT_NEAR(seconds(CollectiveKind::AllReduce, 72e6, {{8, 1}}),
              2 * 50e-6 + 10e-6 + 2 * (3 * 10e-6 + 72e6 * 7 / 8 / 9e9), tolerance);
}

// Four groups of two, with one rank in each part: all four cross the link at the same time.
TEST(MixedCost, SharesTheLinkBetweenParts) {
  EXPECT_NEAR(seconds(CollectiveKind::AllGather, 36e6, {{2, 4}}),
              50e-6 + 10e-6 + 4 * (36e6 / 2) / 18e9, tolerance);
  EXPECT_NEAR(seconds(CollectiveKind::SendRecv, 36e6, {{2, 4}}), 50e-6 + 10e-6 + 4 * 36e6 / 18e9,
              tolerance);
}

// Only {3, 4, 5} of the groups of 3 ranks has ranks in both parts.
TEST(MixedCost, CountsTheGroupsThatCross) {
  double crossing = seconds(CollectiveKind::AllGather, 36e6, {{3, 1}}, 3);
  EXPECT_NEAR(crossing, 50e-6 + 10e-6 + std::max(36e6 * 2 / 3 / 18e9, 5e-6 + 36e6 * 2 / 3 / 36e9),
              tolerance);
  // If the size does not divide the ranks, the last group has the remaining ones.
  EXPECT_NEAR(seconds(CollectiveKind::AllGather, 36e6, {{3, 1}}, 6),
              collectiveSeconds(CollectiveKind::AllGather, 36e6, {{2, 1}}, mixed().parts[1]),
              tolerance);
}

// A rank holds 8 messages of 1/8: 4 x 4 of them cross, and 4 stay inside.
TEST(MixedCost, AllToAll) {
  double across = 72e6 / 8 * 16 / 18e9;
  EXPECT_NEAR(seconds(CollectiveKind::AllToAll, 72e6, {{8, 1}}), 50e-6 + 10e-6 + across, tolerance);
}

TEST(MixedCost, WithoutARankTheSlowestGroup) {
  Topology topology = mixed();
  for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::AllReduce})
    for (const RankGroup &group : {RankGroup{{4, 1}}, RankGroup{{2, 4}}, RankGroup{{3, 1}}}) {
      double slowest = 0;
      for (int64_t rank = 0; rank < 8; ++rank)
        slowest = std::max(slowest, collectiveSeconds(kind, 36e6, group, topology, rank));
      EXPECT_EQ(collectiveSeconds(kind, 36e6, group, topology), slowest);
    }
}
