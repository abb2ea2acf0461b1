// Tests which topology files are accepted, and the locations of errors.
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/Resolve.h"
#include "compiler/describe/topology/TopologyCatalogue.h"
#include "test/unit/topology/Edited.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

using namespace dtc;

namespace {

const std::string file = R"(name = "box"
nodes = 2
devices_per_node = 8

[device]
name = "X"
class = "gpu"
memory = "16 GiB"
memory_bandwidth = "900 GB/s"
compute_units = 80
launch_latency = "5 us"

[device.peak]
f32 = "15.7 TFLOP/s"

[[level]]
name = "inner"
kind = "nvlink"
group = 8
bandwidth = "150 GB/s"
latency = "2 us"

[[level]]
name = "outer"
kind = "ib"
bandwidth = "100 Gbit/s"
latency = "14 us"
oversubscription = 2.5
)";

std::string with(const std::string &from, const std::string &to) { return edited(file, from, to); }

std::string errorOf(const std::string &text) {
  Result<SystemDescription> system = parseDescription(text, "box.toml");
  return system ? "no error" : system.error().text();
}

} // namespace

TEST(ParseDescription, ReadsAFile) {
  Result<SystemDescription> read = parseDescription(file, "box.toml");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const SystemDescription &system = *read;
  EXPECT_EQ(system.name, "box");
  EXPECT_EQ(system.nodes, 2);
  EXPECT_EQ(system.devicesPerNode, 8);
  EXPECT_EQ(system.device.memoryBytes, int64_t(16) << 30);
  EXPECT_EQ(system.device.launchLatency, 5e-6);
  EXPECT_EQ(system.device.peak(ComputeType::F32), 15.7e12);
  EXPECT_EQ(system.device.peak(ComputeType::BF16), 0);
  ASSERT_EQ(system.levels.size(), 2u);
  EXPECT_EQ(system.levels[0].groupSize, 8);
  EXPECT_EQ(system.levels[1].groupSize, 0);
  EXPECT_EQ(system.levels[1].bandwidth, 12.5e9);
  EXPECT_EQ(system.levels[1].effectiveBandwidth(), 5e9);
}

TEST(ParseDescription, PrintsWhatItReadsBack) {
  for (const std::string &text :
       {file, catalogueText("cpu").str(), catalogueText("dgx-h100").str()}) {
    std::string printed = printDescription(*parseDescription(text, "a"));
    Result<SystemDescription> again = parseDescription(printed, "b");
    ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << printed;
    EXPECT_EQ(printDescription(*again), printed);
  }
  SystemDescription odd = *parseDescription(file, "a");
  odd.name = "quote \" backslash \\ tab \t";
  EXPECT_EQ(parseDescription(printDescription(odd), "b")->name, odd.name);
}

// If a file has no latency of graphs, a launch within a graph takes as long as any launch.
TEST(ParseDescription, ReadsTheLatencyOfGraphs) {
  EXPECT_EQ(parseDescription(file, "a")->device.graphLatency, 0);
  EXPECT_EQ(parseDescription(file, "a")->device.replayLatency(), 5e-6);
  std::string text = file;
  text.replace(text.find("launch_latency"), 0, "graph_latency = \"0.5 us\"\n");
  SystemDescription system = *parseDescription(text, "a");
  EXPECT_EQ(system.device.replayLatency(), 0.5e-6);
  EXPECT_EQ(parseDescription(printDescription(system), "b")->device.graphLatency, 0.5e-6);
}

TEST(ParseDescription, PointsAtMisspeltKeys) {
  EXPECT_EQ(errorOf(with("memory_bandwidth", "memory_bandwith")),
            "box.toml:9:1: error: unknown key 'memory_bandwith' in [device]\n"
            "box.toml:9:1: note: did you mean 'memory_bandwidth'?");
  EXPECT_EQ(errorOf(with("kind = \"ib\"", "kind = \"ib\"\nrails = 8")),
            "box.toml:26:1: error: unknown key 'rails' in [[level]] 2\n"
            "box.toml:26:1: note: known keys are 'name', 'kind', 'shape', 'group', 'bandwidth', "
            "'latency', 'in_network_reduction', 'oversubscription', 'shared_bandwidth', "
            "'subset_bandwidth', 'dims', 'axes', 'wrap_from', 'cross_rail'");
  // The error is about the first key in the file, not the first in the alphabet.
  EXPECT_EQ(errorOf(with("nodes = 2", "zzz = 1\nnodes = 2\nqqq = 1")).substr(0, 43),
            "box.toml:2:1: error: unknown key 'zzz' in t");
}

TEST(ParseDescription, PointsAtValues) {
  EXPECT_EQ(errorOf(with("\"16 GiB\"", "\"16 GiG\"")),
            "box.toml:8:10: error: 'memory' of [device]: '16 GiG' is not a number of bytes: 'GiG' "
            "is not one of its "
            "units\nbox.toml:8:10: note: write a number and a unit, one of B, kB, MB, GB, TB, PB, "
            "KiB, MiB, GiB, TiB, "
            "PiB");
  EXPECT_EQ(errorOf(with("\"16 GiB\"", "16")), "box.toml:8:10: error: 'memory' of [device] is 16, "
                                               "wanted a string with a unit, such as \"80 GB\"");
  EXPECT_EQ(
      errorOf(with("\"900 GB/s\"", "\"0 GB/s\"")),
      "box.toml:9:20: error: 'memory_bandwidth' of [device] is '0 GB/s', wanted more than zero");
  EXPECT_EQ(errorOf(with("\"nvlink\"", "\"nvlnk\"")),
            "box.toml:18:8: error: 'kind' of [[level]] 1 is 'nvlnk', wanted one of 'nvlink', "
            "'xgmi', 'ici', 'pcie', 'ib', 'efa', 'ethernet', 'shm'");
  EXPECT_EQ(errorOf(with("2.5", "0.5")), "box.toml:28:20: error: 'oversubscription' of [[level]] 2 "
                                         "is 0.5, wanted a number from 1 to 1000");
  EXPECT_EQ(errorOf(with("2.5", "nan")), "box.toml:28:20: error: 'oversubscription' of [[level]] 2 "
                                         "is nan, wanted a number from 1 to 1000");
  EXPECT_EQ(
      errorOf(with("group = 8", "group = 0")),
      "box.toml:19:9: error: 'group' of [[level]] 1 is 0, wanted a whole number from 1 to 1048576");
  EXPECT_EQ(errorOf(with("\"16 GiB\"", "\"discover\"")),
            "box.toml:8:10: error: 'memory' cannot be discovered for class 'gpu'\n"
            "box.toml:8:10: note: write the figure with its unit");
}

TEST(ParseDescription, NamesWhatIsMissing) {
  EXPECT_EQ(errorOf(with("bandwidth = \"150 GB/s\"\n", "")),
            "box.toml:16:1: error: [[level]] 1 has no 'bandwidth'");
  EXPECT_EQ(errorOf(with("f32 = \"15.7 TFLOP/s\"\n", "")),
            "box.toml:13:1: error: [device.peak] has no 'f32'\n"
            "box.toml:13:1: note: every device computes in f32; other types are optional");
  EXPECT_EQ(errorOf(with("group = 8\n", "")), "box.toml:16:1: error: [[level]] 1 has no 'group'");
  EXPECT_EQ(errorOf("nodes = 1\n"), "box.toml:1:1: error: the file has no 'name'");
  EXPECT_EQ(errorOf(""), "box.toml:1:1: error: the file has no 'name'");
}

TEST(ParseDescription, ChecksThatLevelsJoinTheDevices) {
  EXPECT_EQ(errorOf(with("group = 8", "group = 4")),
            "box.toml:3:20: error: a node has 8 devices, but the levels inside it join 4\n"
            "box.toml:3:20: note: the product of 'group' over the levels inside a node is the "
            "number of its devices");
  EXPECT_EQ(errorOf(file.substr(0, file.find("[[level]]\nname = \"outer\""))),
            "box.toml:2:9: error: the levels join 8 devices, but 2 nodes have 16\n"
            "box.toml:2:9: note: add a [[level]] that joins nodes; without 'group' it joins as "
            "many as there are");
  EXPECT_EQ(errorOf(with("\"outer\"", "\"inner\"")),
            "box.toml:24:8: error: two levels are named 'inner'\n"
            "box.toml:24:8: note: give each level a name of its own");
}

// A device has its share of the node's host.
TEST(ParseDescription, ReadsTheHost) {
  std::string host = "[host]\nmemory = \"64 GiB\"\nmemory_bandwidth = \"80 GB/s\"\n"
                     "link_bandwidth = \"10 GB/s\"\n";
  std::string text = with("[[level]]", host + "[[level]]");
  Result<SystemDescription> system = parseDescription(text, "box.toml");
  ASSERT_TRUE(system.ok()) << system.error().text();
  HostShare share = resolve(*system, 0, 0)->device.host;
  EXPECT_EQ(share.memoryBytes, int64_t(8) << 30);
  EXPECT_EQ(share.memoryBandwidth, 10e9);
  EXPECT_EQ(share.linkBandwidth, 10e9);
  EXPECT_NE(printDescription(*system).find("[host]\nmemory = \"64 GiB\""), std::string::npos);
  EXPECT_FALSE(resolve(*parseDescription(file, "box.toml"), 0, 0)->device.host.isKnown());
  std::string cpu = text;
  cpu.replace(cpu.find("\"gpu\""), 5, "\"cpu\"");
  EXPECT_NE(errorOf(cpu).find("is its own host"), std::string::npos) << errorOf(cpu);
}

// The first level of a node of processes has no size of its own: --devices decides.
TEST(ParseDescription, LeavesTheProcessesOfANodeOpen) {
  std::string text = with("class = \"gpu\"", "class = \"cpu\"");
  EXPECT_EQ(
      errorOf(text),
      "box.toml:19:9: error: the first level of class 'cpu' joins the processes of a node, however "
      "many they are\nbox.toml:19:9: note: leave 'group' out");
  text.replace(text.find("group = 8\n"), 10, "");
  Result<SystemDescription> system = parseDescription(text, "box.toml");
  ASSERT_TRUE(system.ok()) << system.error().text();
  EXPECT_EQ(resolve(*system, 0, 0)->numDevices(), 16);
  EXPECT_EQ(resolve(*system, 2, 6)->levels[0].groupSize, 3);
  EXPECT_EQ(resolve(*system, 1, 0)->device.memoryBytes, int64_t(2)
                                                            << 30); // an eighth of a node's 16 GiB
}

TEST(ParseDescription, PointsAtBadSyntax) {
  std::string text = errorOf(with("nodes = 2", "nodes = = 2"));
  EXPECT_EQ(text.substr(0, 23), "box.toml:2:9: error: pa") << text;
  EXPECT_NE(text.find("note: see https://toml.io for the syntax"), std::string::npos);
  EXPECT_NE(errorOf("name = \"\xff\""), "no error");
  EXPECT_NE(errorOf(std::string("name = \"a\0b\"", 12)), "no error");
  EXPECT_NE(errorOf(std::string(100000, '[')), "no error");
}

// Any change of a file gives an error, or a description that resolves or fails with a message,
// never a crash.
TEST(ParseDescription, SurvivesMutations) {
  std::mt19937_64 random(1);
  const std::string alphabet = "[]{}=\"'.,#\n 019eE+-_xabGiBs/T\\u";
  int64_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = file;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 3) {
      case 0:
        text[at] = alphabet[random() % alphabet.size()];
        break;
      case 1:
        text.erase(at, 1 + random() % 12);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
      if (text.empty())
        text = "\n";
    }
    Result<SystemDescription> system = parseDescription(text, "box.toml");
    if (!system) {
      EXPECT_FALSE(system.error().message.empty());
      continue;
    }
    ++read;
    Result<Topology> topology = resolve(*system, 0, 0);
    if (topology) {
      EXPECT_EQ(topology->levels.empty() ? 1 : topology->devicesWithin(topology->levels.size()),
                topology->numDevices());
    }
  }
  EXPECT_GT(read, 200); // some mutations of names and digits are valid files
}
