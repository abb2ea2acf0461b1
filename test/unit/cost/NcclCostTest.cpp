// Tests NCCL's algorithms and protocols on systems of the catalogue: which one a collective uses,
// the cost of slow links and rails, and the distance to measured seconds.
#include "bench/collectives/Measured.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace dtc;

namespace {

constexpr double mebibyte = 1 << 20, gibibyte = 1 << 30;

Topology load(const std::string &name, int64_t nodes = 0) {
  Result<Topology> topology = loadTopology(name, nodes);
  EXPECT_TRUE(topology.ok()) << topology.error().text();
  return topology ? *topology : Topology();
}

double allReduce(double bytes, const RankGroup &group, const Topology &topology) {
  return collectiveSeconds(CollectiveKind::AllReduce, bytes, group, topology);
}

// Returns bytes of the tensor per second.
double rate(CollectiveKind kind, double bytes, const RankGroup &group, const Topology &topology) {
  return bytes / collectiveSeconds(kind, bytes, group, topology);
}

double quantile(std::vector<double> errors, double q) {
  std::sort(errors.begin(), errors.end());
  return errors[static_cast<size_t>(std::lround(q * static_cast<double>(errors.size() - 1)))];
}

} // namespace

// Every size costs at least as much as a smaller one, so the choices meet without a step down.
TEST(NcclCost, GrowsWithTheBytes) {
  for (const char *name : {"dgx-h100", "dgx-a100-80g", "mi300x", "g6.48xlarge"})
    for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                CollectiveKind::AllToAll, CollectiveKind::Broadcast}) {
      Topology topology = load(name, 4);
      double last = 0;
      for (double bytes = 8; bytes < 64 * gibibyte; bytes *= 1.5) {
        double seconds = collectiveSeconds(kind, bytes, {{32, 1}}, topology);
        EXPECT_GT(seconds, last * (1 - 1e-12)) << name << " " << bytes;
        last = seconds;
      }
    }
}

// The switch reduces large tensors on all ranks of a node, which the A100's cannot.
TEST(NcclCost, TakesTheSwitchWhereItReduces) {
  Topology h100 = load("dgx-h100");
  EXPECT_NEAR(rate(CollectiveKind::AllReduce, gibibyte, {{8, 1}}, h100), 259e9, 3e9);
  h100.levels[0].inNetworkReduction = false;
  double ring = rate(CollectiveKind::AllReduce, 64 * gibibyte, {{8, 1}}, h100);
  // A ring moves 2 x 7 / 8 of the bytes over 363 of 450 GB/s.
  EXPECT_NEAR(ring, 363e9 * 8 / 14, 5e9);
}

// A ring of 64 nodes waits for 2 x 511 hops; a tree is as deep as its logarithm.
TEST(NcclCost, TakesATreeForSmallTensorsOnManyNodes) {
  Topology topology = load("dgx-a100-80g", 64);
  double seconds = allReduce(mebibyte, {{512, 1}}, topology);
  EXPECT_LT(seconds, 300e-6);
  EXPECT_GT(seconds, 50e-6);
}

// Large tensors keep the adapters busy: 8 x 25 GB/s per node, of which a ring moves 2 (n - 1) / n.
TEST(NcclCost, KeepsAllAdaptersBusy) {
  Topology topology = load("dgx-a100-80g", 16);
  double rings = rate(CollectiveKind::AllReduce, 8 * gibibyte, {{128, 1}}, topology);
  EXPECT_NEAR(rings, 8 * 25e9 * 0.97 * 128 / 254, 4e9);
  // One rank per node has only its own adapter.
  double alone = rate(CollectiveKind::AllReduce, gibibyte, {{16, 8}}, topology);
  EXPECT_NEAR(alone, 25e9 * 0.97 * 16 / 30, 1e9);
}

// A group at one position of its nodes stays on its rail. A group whose position shifts by half a
// node crosses the spine, which is narrower if the file tells so.
TEST(NcclCost, LeavesRailsAtAPrice) {
  Topology topology = load("dgx-h100", 3);
  topology.levels[1].crossRail = 4;
  // Ranks 0, 12 use the other half of the next node. Ranks 0, 8, 16 have the same position.
  double crossing =
      collectiveSeconds(CollectiveKind::AllGather, gibibyte, {{2, 12}}, topology) / gibibyte;
  double along =
      collectiveSeconds(CollectiveKind::AllGather, gibibyte, {{2, 8}}, topology) / gibibyte;
  EXPECT_NEAR(crossing / along, 4, 0.1);
}

// Groups of 12 nodes each share the bandwidth out of their cabinet. Within it there is twice as
// much.
TEST(NcclCost, PaysForTheLinksOfADragonfly) {
  Topology topology = load("perlmutter", 256);
  double within = rate(CollectiveKind::AllToAll, gibibyte, {{512, 1}}, topology);
  double across = rate(CollectiveKind::AllToAll, gibibyte, {{1024, 1}}, topology);
  EXPECT_NEAR(within / across, 1.0, 0.05); // half of the traffic over half of the bandwidth
  // One message to the other cabinet has the links between the two for itself.
  EXPECT_LT(rate(CollectiveKind::AllGather, gibibyte, {{2, 512}}, topology),
            rate(CollectiveKind::AllGather, gibibyte, {{2, 256}}, topology));
}

// A pod can send seven times fewer bytes out than its GPUs could.
TEST(NcclCost, PaysForOversubscription) {
  Topology topology = load("grand-teton-h100", 768);
  double within = rate(CollectiveKind::AllGather, gibibyte, {{2, 16}}, topology);
  double across = rate(CollectiveKind::AllGather, gibibyte, {{2, 3072}}, topology);
  EXPECT_NEAR(within / across, 7, 0.3);
}

// Groups that have the slow node wait for it, and others do not.
TEST(NcclCost, PaysForSlowLinksWhereTheyAre) {
  Result<Topology> read = parseTopology(R"(name = "tired"
nodes = 4
devices_per_node = 8
[device]
name = "A100"
class = "gpu"
memory = "80 GiB"
memory_bandwidth = "2 TB/s"
compute_units = 108
launch_latency = "4 us"
peak = { f32 = "19.5 TFLOP/s" }
[[level]]
name = "nvlink"
kind = "nvlink"
group = 8
bandwidth = "300 GB/s"
latency = "0.6 us"
[[level]]
name = "ib"
kind = "ib"
bandwidth = "200 Gbit/s"
latency = "2.7 us"
[[slow_link]]
level = "ib"
nodes = [3]
bandwidth = "50 Gbit/s"
)",
                                        "tired.toml");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const Topology &topology = *read;
  auto gather = [&](int64_t rank) {
    return collectiveSeconds(CollectiveKind::AllGather, gibibyte, {{2, 8}}, topology, rank);
  };
  Topology sound = load("dgx-a100-80g", 4);
  double wanted = collectiveSeconds(CollectiveKind::AllGather, gibibyte, {{2, 8}}, sound);
  EXPECT_NEAR(gather(0), wanted, 0.01 * wanted);          // nodes 0 and 1
  EXPECT_NEAR(gather(16), 4 * wanted, 0.05 * 4 * wanted); // nodes 2 and 3
  EXPECT_EQ(collectiveSeconds(CollectiveKind::AllGather, gibibyte, {{2, 8}}, topology),
            gather(16)); // the slowest of all
  // A slice without the slow node is not slower.
  EXPECT_NEAR(
      collectiveSeconds(CollectiveKind::AllGather, gibibyte, {{2, 8}}, topology.slice(0, 16)),
      wanted, 0.01 * wanted);
  // The slow node is not slower inside.
  EXPECT_EQ(collectiveSeconds(CollectiveKind::AllReduce, gibibyte, {{8, 1}}, topology, 24),
            collectiveSeconds(CollectiveKind::AllReduce, gibibyte, {{8, 1}}, topology, 0));
}

// The bounds are those of the model when its constants were set, rounded up, so a worse model fails
// this test.
TEST(NcclCost, IsNearWhatWasMeasured) {
  Result<std::vector<MeasuredCollective>> rows =
      readMeasured(DTC_SOURCE_DIR "/bench/collectives/measured.csv");
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  std::vector<double> fitted, others;
  for (const MeasuredCollective &row : *rows)
    (row.isFitted ? fitted : others).push_back(std::abs(row.model / row.seconds - 1));
  EXPECT_GT(fitted.size(), 100u);
  EXPECT_GT(others.size(), 30u);
  EXPECT_LT(quantile(fitted, 0.5), 0.05);
  EXPECT_LT(quantile(fitted, 0.9), 0.18);
  EXPECT_LT(quantile(others, 0.5), 0.10);
  EXPECT_LT(quantile(others, 0.9), 0.30);
}
