// Tests numbers of nodes and devices, and the nearest ones if a number cannot be divided.
#include "compiler/describe/topology/Resolve.h"
#include "compiler/describe/topology/Description.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

LinkLevel level(const char *name, int64_t groupSize) {
  LinkLevel result;
  result.name = name;
  result.groupSize = groupSize;
  result.bandwidth = 8e9;
  return result;
}

// Returns two groups of four devices per node, and any number of nodes.
SystemDescription pairsOfFour() {
  SystemDescription system;
  system.name = "box";
  system.devicesPerNode = 8;
  system.levels = {level("quad", 4), level("bridge", 2), level("net", 0)};
  return system;
}

std::vector<int64_t> groups(const Topology &topology) {
  std::vector<int64_t> sizes;
  for (const LinkLevel &each : topology.levels)
    sizes.push_back(each.groupSize);
  return sizes;
}

} // namespace

TEST(Resolve, FillsInnerLevelsFirst) {
  SystemDescription box = pairsOfFour();
  EXPECT_EQ(groups(*resolve(box, 0, 0)), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(groups(*resolve(box, 3, 0)), (std::vector<int64_t>{4, 2, 3}));
  EXPECT_EQ(groups(*resolve(box, 0, 4)), (std::vector<int64_t>{4}));
  EXPECT_EQ(groups(*resolve(box, 0, 3)), (std::vector<int64_t>{3}));
  EXPECT_EQ(groups(*resolve(box, 0, 1)), (std::vector<int64_t>{}));
}

TEST(Resolve, CountsTheNodesThatAreUsed) {
  Topology topology = *resolve(pairsOfFour(), 4, 16);
  EXPECT_EQ(topology.nodes, 2);
  EXPECT_EQ(topology.devicesPerNode, 8);
  topology = *resolve(pairsOfFour(), 4, 4);
  EXPECT_EQ(topology.nodes, 1);
  EXPECT_EQ(topology.devicesPerNode, 4);
}

TEST(Resolve, NamesTheNearestFeasibleCount) {
  UserError error = resolve(pairsOfFour(), 2, 12).error();
  EXPECT_EQ(error.message,
            "12 devices do not fill the levels of 'box' evenly: more than one group of a level is "
            "used in whole groups only");
  EXPECT_EQ(error.note, "nearest feasible: --devices 8 or 16");
  EXPECT_EQ(resolve(pairsOfFour(), 0, 7).error().note, "nearest feasible: --devices 4 or 8");
  error = resolve(pairsOfFour(), 0, 12).error();
  EXPECT_EQ(error.message, "'box' has 8 devices in 1 node, but 12 are asked for");
  EXPECT_EQ(error.note, "nearest feasible: --devices 8, or --nodes 2");
}

TEST(Resolve, KeepsToTheCapacityOfClosedLevels) {
  SystemDescription box = pairsOfFour();
  box.levels[2].groupSize = 3;
  EXPECT_EQ(resolve(box, 3, 0)->numDevices(), 24);
  UserError error = resolve(box, 4, 0).error();
  EXPECT_EQ(
      error.message,
      "the levels of 'box' join at most 24 devices, but 4 nodes with 32 devices are asked for");
  EXPECT_EQ(error.note, "nearest feasible: --nodes 3");
}

TEST(Resolve, DividesProcessesOverCpuNodes) {
  SystemDescription system;
  system.name = "machine";
  system.device.deviceClass = DeviceClass::Cpu;
  system.device.memoryBytes = 1000;
  system.device.computeUnits = 2;
  system.levels = {level("memory", 0), level("network", 0)};
  Topology topology = *resolve(system, 2, 6);
  EXPECT_EQ(groups(topology), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(topology.device.memoryBytes, 333);
  EXPECT_EQ(topology.device.computeUnits, 1);
  UserError error = resolve(system, 2, 5).error();
  EXPECT_EQ(error.message, "5 devices cannot be divided over 2 nodes of 'machine'");
  EXPECT_EQ(error.note, "nearest feasible: --devices 4 or 6");
  system.levels.pop_back();
  EXPECT_EQ(
      resolve(system, 2, 4).error().message,
      "the levels of 'machine' join at most 2 devices, but 2 nodes with 4 devices are asked for");
}

TEST(Resolve, RefusesAbsurdNumbers) {
  EXPECT_EQ(resolve(pairsOfFour(), -1, 0).error().message, "--nodes -1 is negative");
  EXPECT_EQ(resolve(pairsOfFour(), 0, -8).error().message, "--devices -8 is negative");
  EXPECT_EQ(resolve(pairsOfFour(), INT64_MAX, 0).error().note, "nearest feasible: --nodes 131072");
  EXPECT_FALSE(resolve(pairsOfFour(), 0, INT64_MAX).ok());
}
