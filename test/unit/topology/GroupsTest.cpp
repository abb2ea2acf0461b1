// Tests groups of equal devices, slow links, and systems cut out of larger ones.
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "test/unit/topology/Edited.h"

#include <gtest/gtest.h>

#include <random>

using namespace dtc;

namespace {

const std::string eightNodes = R"(name = "cluster"
nodes = 8
devices_per_node = 8

[device]
name = "X"
class = "gpu"
memory = "16 GiB"
memory_bandwidth = "900 GB/s"
compute_units = 80
launch_latency = "5 us"
peak = { f32 = "15 TFLOP/s" }

[[level]]
name = "inner"
kind = "nvlink"
group = 8
bandwidth = "160 GB/s"
latency = "1 us"

[[level]]
name = "outer"
kind = "ib"
bandwidth = "200 Gbit/s"
latency = "3 us"
)";

const std::string slow = R"(
[[slow_link]]
level = "outer"
nodes = [3]
bandwidth = "40 Gbit/s"
latency = "7 us"
)";

std::string part(const std::string &name, int64_t nodes, int64_t devices, const std::string &peak) {
  std::string of = "part." + name;
  return "\n[[part]]\nname = \"" + name + "\"\nnodes = " + std::to_string(nodes) +
         "\ndevices_per_node = " + std::to_string(devices) + "\n[part.device]\nname = \"" + name +
         "\"\nclass = \"gpu\"\nmemory = \"16 GiB\"\nmemory_bandwidth = \"900 GB/s\"\n"
         "compute_units = 80\nlaunch_latency = \"5 us\"\npeak = { f32 = \"" +
         peak + "\" }\n[[part.level]]\nname = \"inner\"\nkind = \"nvlink\"\ngroup = " +
         std::to_string(devices) +
         "\nbandwidth = \"160 GB/s\"\nlatency = \"1 us\"\n[[part.level]]\nname = \"outer\"\n"
         "kind = \"ib\"\nbandwidth = \"200 Gbit/s\"\nlatency = \"3 us\"\n";
}

// The system has 2 nodes of 8 and 3 of 4.
const std::string uneven = "name = \"uneven\"\n" + part("big", 2, 8, "15 TFLOP/s") +
                           part("small", 3, 4, "30 TFLOP/s") +
                           "\n[[link]]\nkind = \"ethernet\"\nbandwidth = \"100 Gbit/s\"\n"
                           "latency = \"20 us\"\n";

Topology read(const std::string &text, int64_t nodes = 0, int64_t devices = 0) {
  Result<Topology> topology = parseTopology(text, "box.toml", nodes, devices);
  EXPECT_TRUE(topology.ok()) << topology.error().text();
  return topology ? *topology : Topology();
}

std::string errorOf(const std::string &text) {
  Result<Topology> topology = parseTopology(text, "box.toml");
  return topology ? "no error" : topology.error().text();
}

// Returns {first device, devices, nodes, devices per node} of each group.
std::vector<std::vector<int64_t>> shapes(const Topology &topology) {
  std::vector<std::vector<int64_t>> result;
  for (const DeviceGroup &group : topology.groups)
    result.push_back({group.firstDevice, group.numDevices, group.nodes, group.devicesPerNode});
  return result;
}

std::vector<int64_t> sizes(const Topology &topology) {
  std::vector<int64_t> result;
  for (const LinkLevel &level : topology.levels)
    result.push_back(level.groupSize);
  return result;
}

using Shapes = std::vector<std::vector<int64_t>>;

} // namespace

TEST(DeviceGroups, AreOneWhereAllIsAlike) {
  Topology topology = read(eightNodes);
  EXPECT_EQ(shapes(topology), (Shapes{{0, 64, 8, 8}}));
  EXPECT_TRUE(topology.isUniform());
  EXPECT_EQ(topology.groups[0].device.name, "X");
  EXPECT_EQ(topology.groups[0].levels.size(), 2u);
}

TEST(DeviceGroups, PartAtASlowLink) {
  Topology topology = read(eightNodes + slow);
  EXPECT_EQ(shapes(topology), (Shapes{{0, 24, 3, 8}, {24, 8, 1, 8}, {32, 32, 4, 8}}));
  EXPECT_TRUE(topology.isHomogeneous());
  EXPECT_FALSE(topology.isUniform());
  EXPECT_EQ(topology.groups[0].levels[1].bandwidth, 25e9);
  EXPECT_EQ(topology.groups[1].levels[1].bandwidth, 5e9);
  EXPECT_EQ(topology.groups[1].levels[1].latency, 7e-6);
  EXPECT_EQ(topology.groups[1].levels[0].bandwidth, 160e9);
  // The levels are nowhere better than the real ones.
  EXPECT_EQ(topology.levels[1].bandwidth, 5e9);
  EXPECT_EQ(topology.levels[1].latency, 7e-6);
  EXPECT_EQ(topology.levelsOf({0, 8})[1].bandwidth, 25e9);
  EXPECT_EQ(topology.levelsOf({0, 31})[1].bandwidth, 5e9);
  // The group is gone without the slow node.
  EXPECT_TRUE(read(eightNodes + slow, 3).isUniform());
  // The level is gone without a second node.
  EXPECT_TRUE(read(eightNodes + slow, 1).isUniform());
}

TEST(DeviceGroups, JoinNeighboursWithTheSameSlowLink) {
  std::string text = eightNodes + slow;
  text.replace(text.find("[3]"), 3, "[5, 3, 4, 7]");
  EXPECT_EQ(shapes(read(text)),
            (Shapes{{0, 24, 3, 8}, {24, 24, 3, 8}, {48, 8, 1, 8}, {56, 8, 1, 8}}));
}

TEST(DeviceGroups, AreThePartsOfAHeterogeneousSystem) {
  Topology topology = read(uneven);
  EXPECT_EQ(shapes(topology), (Shapes{{0, 16, 2, 8}, {16, 12, 3, 4}}));
  EXPECT_EQ(topology.groups[0].part, 0u);
  EXPECT_EQ(topology.groups[1].part, 1u);
  EXPECT_EQ(topology.groups[0].device.peak(ComputeType::F32), 15e12);
  EXPECT_EQ(topology.groups[1].device.peak(ComputeType::F32), 30e12);
  EXPECT_EQ(topology.nodes, 5);
  EXPECT_EQ(topology.device.peak(ComputeType::F32), 15e12);
  EXPECT_EQ(topology.levels[0].bandwidth, 12.5e9 / 12); // all of the smaller part share the link
  EXPECT_EQ(shapes(read(uneven, 3)), (Shapes{{0, 16, 2, 8}, {16, 4, 1, 4}}));
  EXPECT_EQ(shapes(read(uneven, 2)), (Shapes{{0, 16, 2, 8}}));
}

TEST(DeviceGroups, OfTheMixedCluster) {
  Topology topology = *loadTopology("mixed-a100-h100");
  EXPECT_EQ(shapes(topology), (Shapes{{0, 32, 4, 8}, {32, 32, 4, 8}}));
  EXPECT_EQ(topology.groups[0].device.peak(ComputeType::BF16), 312e12);
  EXPECT_EQ(topology.groups[1].device.peak(ComputeType::BF16), 989.4e12);
  EXPECT_EQ(topology.linkBetween(1, 0)->link.bandwidth, 800e9);
}

TEST(Slice, KeepsWhatIsInside) {
  Topology topology = read(eightNodes + slow);
  Topology node = topology.slice(8, 8);
  EXPECT_EQ(node.numDevices(), 8);
  EXPECT_EQ(node.nodes, 1);
  EXPECT_EQ(sizes(node), (std::vector<int64_t>{8}));
  EXPECT_TRUE(node.isUniform());

  Topology pair = topology.slice(0, 16);
  EXPECT_EQ(sizes(pair), (std::vector<int64_t>{8, 2}));
  EXPECT_EQ(pair.levels[1].bandwidth, 25e9); // node 3 is not in it

  Topology withSlow = topology.slice(16, 32);
  EXPECT_EQ(sizes(withSlow), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(shapes(withSlow), (Shapes{{0, 8, 1, 8}, {8, 8, 1, 8}, {16, 16, 2, 8}}));
  EXPECT_EQ(withSlow.levels[1].bandwidth, 5e9);

  EXPECT_TRUE(topology.slice(63, 1).levels.empty());
}

// Ranks 4 to 11 are the second half of a node and the first half of the next.
TEST(Slice, CutsNodesInTheMiddle) {
  Topology cut = read(eightNodes).slice(4, 8);
  EXPECT_EQ(cut.nodes, 2);
  EXPECT_EQ(cut.devicesPerNode, 4);
  EXPECT_EQ(sizes(cut), (std::vector<int64_t>{4, 2}));
  cut = read(eightNodes).slice(5, 6); // 3 and 3, but together only if the cut is at 8
  EXPECT_EQ(cut.numDevices(), 6);
  EXPECT_EQ(sizes(cut), (std::vector<int64_t>{6}));
  EXPECT_EQ(cut.levels[0].name, "outer");
}

// Every slice is a system of that many devices, whose levels join them all.
TEST(Slice, CountsItsDevices) {
  for (const char *name : {"mixed-a100-h100", "mi300x", "tpu-v4", "dgx-v100"}) {
    Topology topology = *loadTopology(name, 8);
    for (int64_t first = 0; first < topology.numDevices(); ++first)
      for (int64_t count = 1; first + count <= topology.numDevices(); ++count) {
        Topology cut = topology.slice(first, count);
        ASSERT_EQ(cut.numDevices(), count) << name << " " << first;
        ASSERT_EQ(cut.devicesWithin(cut.levels.size()), count) << name << " " << first;
        int64_t inGroups = 0;
        for (const DeviceGroup &group : cut.groups) {
          ASSERT_EQ(group.firstDevice, inGroups);
          inGroups += group.numDevices;
        }
        ASSERT_EQ(inGroups, count);
      }
  }
}

TEST(Slice, OfOnePartIsHomogeneous) {
  Topology topology = read(uneven);
  Topology small = topology.slice(16, 12);
  EXPECT_TRUE(small.isHomogeneous());
  EXPECT_EQ(small.device.name, "small");
  EXPECT_EQ(sizes(small), (std::vector<int64_t>{4, 3}));
  Topology both = topology.slice(8, 12);
  ASSERT_EQ(both.parts.size(), 2u);
  EXPECT_EQ(shapes(both), (Shapes{{0, 8, 1, 8}, {8, 4, 1, 4}}));
  EXPECT_EQ(both.linkBetween(0, 1)->link.bandwidth, 12.5e9);
}

TEST(PathBetween, PassesSlowLinks) {
  Topology topology = read(eightNodes + slow);
  EXPECT_EQ(pathBetween({0}, {8}, topology).bandwidth, 25e9);
  EXPECT_EQ(pathBetween({0}, {24}, topology).bandwidth, 5e9);
  EXPECT_EQ(pathBetween({24}, {0}, topology).latency, 7e-6);
}

TEST(SlowLinks, PrintAndReadBack) {
  std::string printed = printDescription(*parseDescription(eightNodes + slow, "a"));
  Result<SystemDescription> again = parseDescription(printed, "b");
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << printed;
  EXPECT_EQ(printDescription(*again), printed);
  ASSERT_EQ(again->slowLinks.size(), 1u);
  EXPECT_EQ(again->slowLinks[0].bandwidth, 5e9);
}

TEST(SlowLinks, AreChecked) {
  auto with = [](const std::string &from, const std::string &to) {
    return eightNodes + edited(slow, from, to);
  };
  EXPECT_EQ(errorOf(with("\"outer\"", "\"outr\"")),
            "box.toml:28:9: error: 'level' of [[slow_link]] 1 is 'outr', which no [[level]] is "
            "named\nbox.toml:28:9: note: did you mean 'outer'?");
  EXPECT_EQ(errorOf(with("[3]", "[8]")),
            "box.toml:29:10: error: 'nodes' of [[slow_link]] 1 holds 8, wanted whole numbers from "
            "0 to 7");
  EXPECT_EQ(errorOf(with("40 Gbit", "400 Gbit")),
            "box.toml:30:13: error: 'bandwidth' of [[slow_link]] 1 is 50 GB/s, more than the "
            "level's 25 GB/s\nbox.toml:30:13: note: write the quicker figure in the level, and a "
            "[[slow_link]] for the other nodes");
  EXPECT_EQ(errorOf(with("7 us", "2 us")),
            "box.toml:31:11: error: 'latency' of [[slow_link]] 1 is 2 us, less than the level's 3 "
            "us\nbox.toml:31:11: note: leave it out where it is the level's");
  EXPECT_EQ(errorOf(uneven + slow),
            "box.toml:56:1: error: a file with [[part]] has 'slow_link' in each part, not outside\n"
            "box.toml:56:1: note: move it into the parts it is of");
}

// Any change of a file with parts or slow links gives an error, or a system whose groups and slices
// have all of its devices.
TEST(SlowLinks, SurviveMutations) {
  std::mt19937_64 random(1);
  const std::string alphabet = "[]{}=\"'.,#\n 0193eE+-_xnodesGb/s";
  const std::string files[] = {eightNodes + slow, uneven};
  int64_t read = 0;
  for (int round = 0; round < 10000; ++round) {
    std::string text = files[random() % 2];
    for (int edits = 1 + static_cast<int>(random() % 2); edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = alphabet[random() % alphabet.size()];
        break;
      case 1:
        text.erase(at, 1 + random() % 8);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 8));
      }
    }
    Result<Topology> topology = parseTopology(text, "box.toml");
    if (!topology) {
      EXPECT_FALSE(topology.error().message.empty());
      continue;
    }
    ++read;
    int64_t inGroups = 0;
    for (const DeviceGroup &group : topology->groups)
      inGroups += group.numDevices;
    ASSERT_EQ(inGroups, topology->numDevices()) << text;
    int64_t first = static_cast<int64_t>(random()) & 0xffff;
    first %= topology->numDevices();
    int64_t count = topology->numDevices() - first;
    Topology cut = topology->slice(first, count);
    ASSERT_EQ(cut.numDevices(), count) << text;
    ASSERT_EQ(cut.levels.empty() ? 1 : cut.devicesWithin(cut.levels.size()), count) << text;
  }
  EXPECT_GT(read, 300);
}
