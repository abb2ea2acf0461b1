// The systems of the catalogue, with the figures of their data sheets.
#include "compiler/topology/Topology.h"

#include <gtest/gtest.h>

using namespace dtc;

static Topology load(const std::string &name, int64_t nodes = 0, int64_t devices = 0) {
  Result<Topology> topology = loadTopology(name, nodes, devices);
  EXPECT_TRUE(topology.ok()) << topology.error().text();
  return topology ? *topology : Topology();
}

TEST(Catalogue, TwoDgxH100AreSixteenDevices) {
  Topology topology = load("dgx-h100", /*nodes=*/2, /*devices=*/0);
  EXPECT_EQ(topology.numDevices(), 16);
  ASSERT_EQ(topology.levels.size(), 2u);
  EXPECT_EQ(topology.devicesWithin(0), 8);
  EXPECT_EQ(topology.devicesWithin(1), 16);
}

TEST(Catalogue, DgxH100HasItsDataSheetsFigures) {
  Topology topology = load("dgx-h100");
  EXPECT_EQ(topology.nodes, 1);
  EXPECT_EQ(topology.devicesPerNode, 8);
  EXPECT_EQ(topology.device.memoryBytes, int64_t(80) << 30);
  EXPECT_EQ(topology.device.peak(ComputeType::BF16), 989.4e12);
  EXPECT_EQ(topology.device.peak(ComputeType::FP8), 1978.9e12);
  EXPECT_EQ(topology.device.computeUnits, 132);
  ASSERT_EQ(topology.levels.size(), 1u);
  EXPECT_EQ(topology.levels[0].bandwidth, 450e9);
  EXPECT_TRUE(topology.levels[0].inNetworkReduction);
}

TEST(Catalogue, DgxA100HasItsDataSheetsFigures) {
  Topology topology = load("dgx-a100-80g", 4);
  EXPECT_EQ(topology.device.peak(ComputeType::BF16), 312e12);
  EXPECT_EQ(topology.device.peak(ComputeType::FP8), 0);
  ASSERT_EQ(topology.levels.size(), 2u);
  EXPECT_EQ(topology.levels[0].bandwidth, 300e9);
  EXPECT_FALSE(topology.levels[0].inNetworkReduction);
  EXPECT_EQ(topology.levels[1].bandwidth, 25e9);
  EXPECT_EQ(topology.levels[1].groupSize, 4);
}

// Whatever the machine: it has something of everything, and twice as many processes have half each.
TEST(Catalogue, CpuIsSharedByItsProcesses) {
  Topology one = load("cpu");
  EXPECT_EQ(one.numDevices(), 1);
  EXPECT_TRUE(one.levels.empty());
  EXPECT_GT(one.device.memoryBytes, int64_t(64) << 20);
  EXPECT_GT(one.device.memoryBandwidth, 1e9);
  EXPECT_GT(one.device.peak(ComputeType::F32), 1e9);
  EXPECT_LT(one.device.peak(ComputeType::F32), 1e15);
  EXPECT_GE(one.device.computeUnits, 1);

  Topology eight = load("cpu", 0, 8);
  EXPECT_EQ(eight.numDevices(), 8);
  EXPECT_EQ(eight.device.memoryBytes, one.device.memoryBytes / 8);
  EXPECT_EQ(eight.device.memoryBandwidth, one.device.memoryBandwidth / 8);
  EXPECT_EQ(eight.device.peak(ComputeType::F32), one.device.peak(ComputeType::F32) / 8);
  ASSERT_EQ(eight.levels.size(), 1u);
  EXPECT_EQ(eight.levels[0].kind, LinkKind::SharedMemory);
  EXPECT_EQ(eight.levels[0].groupSize, 8);
  EXPECT_EQ(eight.levels[0].bandwidth, one.device.memoryBandwidth / 4 / 8);

  Topology nodes = load("cpu", 2, 8);
  ASSERT_EQ(nodes.levels.size(), 2u);
  EXPECT_EQ(nodes.levels[0].groupSize, 4);
  EXPECT_EQ(nodes.levels[1].groupSize, 2);
  EXPECT_EQ(nodes.levels[1].bandwidth, 1.25e9 / 4);
}

TEST(Catalogue, IsSortedAndLoads) {
  std::vector<std::string> names = catalogueNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char *wanted : {"cpu", "dgx-a100-80g", "dgx-h100"})
    EXPECT_NE(std::find(names.begin(), names.end(), wanted), names.end()) << wanted;
  for (const std::string &name : names)
    EXPECT_EQ(load(name).name, name);
}

TEST(LoadTopology, NamesTheNearestOfTheCatalogue) {
  UserError error = loadTopology("dgx-h10").error();
  EXPECT_EQ(error.message, "'dgx-h10' is neither a topology of the catalogue nor a file");
  EXPECT_EQ(error.note.find("did you mean 'dgx-h100'? the catalogue has cpu, "), 0u) << error.note;
  EXPECT_EQ(loadTopology("absent/cluster.toml").error().message,
            "reading 'absent/cluster.toml': No such file or directory");
}

TEST(ComputeType, HasNames) {
  EXPECT_EQ(computeTypeFrom("bf16"), ComputeType::BF16);
  EXPECT_EQ(computeTypeFrom("int8"), std::nullopt);
  EXPECT_EQ(nameOf(ComputeType::TF32), "tf32");
}
