// Tests which [calibration] tables are read and refused, and how they are printed.
#include "compiler/describe/topology/Calibration.h"
#include "compiler/describe/topology/CalibrationFiles.h"
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/Resolve.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {

const char *base = R"(name = "box"
devices_per_node = 8

[device]
name = "X"
class = "gpu"
memory = "16 GiB"
memory_bandwidth = "900 GB/s"
compute_units = 80
launch_latency = "5 us"
peak = { f32 = "15.7 TFLOP/s", bf16 = "125 TFLOP/s" }

[[level]]
name = "inner"
kind = "nvlink"
group = 8
bandwidth = "150 GB/s"
latency = "2 us"

[calibration]
)";

const char *curves = R"(machine = "a \"box\""
software = "CUDA 13.0"
date = "2026-11-21"
launches = [ { time = "4 us", repeats = 100, spread = 0.1 }, { graph = true, time = "1.5 us" } ]
products = [
  { type = "bf16", m = 1024, n = 3072, k = 768, time = "60 us", repeats = 20, spread = 0.01 },
  { type = "f32", m = 1024, n = 3072, k = 768, batch = 4, units = 40, time = "1.25 ms" },
]
memory = [ { pattern = "copy", bytes = 1048576, time = "6 us" } ]
attention = [
  { type = "bf16", sequence = 512, head_dim = 64, heads = 96, causal = true, time = "80 us" },
  { type = "bf16", sequence = 512, head_dim = 64, causal = true, backward = true, time = "90 us" },
]
collectives = [ { kind = "reduce-scatter", level = "inner", ranks = 4, bytes = 4096, time = "9 us" } ]
)";

Result<SystemDescription> read(const std::string &calibration) {
  return parseDescription(base + calibration, "box.toml");
}

std::string errorOf(const std::string &calibration) {
  Result<SystemDescription> system = read(calibration);
  return system ? "no error" : system.error().text();
}

} // namespace

TEST(CalibrationFile, IsRead) {
  Result<SystemDescription> system = read(curves);
  ASSERT_TRUE(system.ok()) << system.error().text();
  const Calibration &found = *system->device.calibration;
  ASSERT_EQ(found.launches.size(), 2U);
  EXPECT_EQ(system->device.launchLatency, 4e-6);
  EXPECT_EQ(system->device.graphLatency, found.launches[1].time.seconds);
  EXPECT_EQ(found.machine, "a \"box\"");
  EXPECT_EQ(found.device.name, "X");
  EXPECT_EQ(found.device.calibration, nullptr);
  ASSERT_EQ(found.levels.size(), 1U);
  EXPECT_TRUE(found.launches[1].graph);
  EXPECT_EQ(found.launches[1].time.repeats, 1);
  ASSERT_EQ(found.products.size(), 2U);
  EXPECT_EQ(found.products[0].type, ComputeType::BF16);
  EXPECT_EQ(found.products[0].n, 3072);
  EXPECT_EQ(found.products[0].batch, 1);
  EXPECT_EQ(found.products[0].units, 80);
  EXPECT_EQ(found.products[0].time.seconds, 60e-6);
  EXPECT_EQ(found.products[0].time.repeats, 20);
  EXPECT_EQ(found.products[0].time.spread, 0.01);
  EXPECT_EQ(found.products[1].batch, 4);
  EXPECT_EQ(found.products[1].units, 40);
  ASSERT_EQ(found.memory.size(), 1U);
  EXPECT_EQ(found.memory[0].bytes, 1048576);
  ASSERT_EQ(found.attention.size(), 2U);
  EXPECT_EQ(found.attention[0].heads, 96);
  EXPECT_TRUE(found.attention[0].causal && !found.attention[0].backward);
  EXPECT_TRUE(found.attention[1].backward);
  ASSERT_EQ(found.collectives.size(), 1U);
  EXPECT_EQ(found.collectives[0].kind, CollectiveKind::ReduceScatter);
  EXPECT_EQ(found.collectives[0].ranks, 4);
}

TEST(CalibrationFile, IsPrintedAsItIsRead) {
  Result<SystemDescription> system = read(curves);
  ASSERT_TRUE(system.ok());
  std::string printed = printDescription(*system);
  Result<SystemDescription> again = parseDescription(printed, "printed.toml");
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << printed;
  EXPECT_EQ(printDescription(*again), printed);
  const Calibration &a = *system->device.calibration, &b = *again->device.calibration;
  EXPECT_EQ(a.machine, b.machine);
  ASSERT_EQ(a.products.size(), b.products.size());
  EXPECT_EQ(a.products[1].time.seconds, b.products[1].time.seconds);
  EXPECT_EQ(a.products[1].units, b.products[1].units);
  ASSERT_EQ(a.attention.size(), b.attention.size());
  EXPECT_EQ(a.attention[1].backward, b.attention[1].backward);
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  EXPECT_EQ(a.collectives[0].level, b.collectives[0].level);
}

TEST(CalibrationFile, MayBeEmpty) {
  Result<SystemDescription> system = read("");
  ASSERT_TRUE(system.ok());
  EXPECT_TRUE(system->device.calibration->isEmpty());
  EXPECT_EQ(system->device.launchLatency, 5e-6);
}

TEST(CalibrationFile, IsOfAPartOfAMixedSystem) {
  std::string part = base;
  for (const char *table : {"[device]", "[[level]]", "[calibration]"}) {
    size_t at = part.find(table) + (table[1] == '[' ? 2 : 1);
    part.insert(at, "part.");
  }
  std::string text =
      "name = \"mixed\"\n[[part]]\n" + part + curves +
      "[[part]]\nname = \"old\"\nsystem = \"dgx-a100-80g\"\n"
      "[[link]]\nkind = \"ethernet\"\nbandwidth = \"10 GB/s\"\nlatency = \"20 us\"\n";
  Result<SystemDescription> system = parseDescription(text, "mixed.toml");
  ASSERT_TRUE(system.ok()) << system.error().text();
  ASSERT_TRUE(system->parts[0].device.calibration);
  Result<SystemDescription> again = parseDescription(printDescription(*system), "printed.toml");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->parts[0].device.calibration->products.size(), 2U);
  Result<Topology> topology = resolve(*system, 0, 0);
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_TRUE(topology->parts[0].device.calibration);
  EXPECT_FALSE(topology->parts[1].device.calibration);
  EXPECT_FALSE(topology->device.calibration);
}

struct Bad {
  const char *calibration, *message;
};

class BadCalibration : public testing::TestWithParam<Bad> {};

TEST_P(BadCalibration, IsRefused) {
  std::string error = errorOf(GetParam().calibration);
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
  // The place is in the table, whose first line is 22.
  int line = 0;
  ASSERT_EQ(sscanf(error.c_str(), "box.toml:%d:", &line), 1) << error;
  EXPECT_GE(line, 21) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadCalibration,
    testing::Values(
        Bad{"product = []", "unknown key 'product' in [calibration]"},
        Bad{"machine = 3", "'machine' of [calibration] is 3"},
        Bad{"launches = 3", "'launches' of [calibration] is 3"},
        Bad{"launches = [3]", "'launches' holds 3"},
        Bad{"launches = [{}]", "launch 1 of [calibration] has no 'time'"},
        Bad{"launches = [{time = 3}]", "'time' of launch 1 of [calibration] is 3"},
        Bad{"launches = [{time = \"3 GB\"}]", "'time' of launch 1"},
        Bad{"launches = [{time = \"0 us\"}]", "more than zero"},
        Bad{"launches = [{time = \"-1 us\"}]", "'time' of launch 1"},
        Bad{"launches = [{time = \"nan us\"}]", "'time' of launch 1"},
        Bad{"launches = [{time = \"inf s\"}]", "'time' of launch 1"},
        Bad{"launches = [{time = \"0.5 ns\"}]", "wanted 1 ns to 3600 s"},
        Bad{"launches = [{time = \"4000 s\"}]", "wanted 1 ns to 3600 s"},
        Bad{"launches = [{time = \"1 us\", repeats = 0}]", "'repeats' of launch 1"},
        Bad{"launches = [{time = \"1 us\", repeats = 1.5}]", "'repeats' of launch 1"},
        Bad{"launches = [{time = \"1 us\", spread = -0.1}]", "'spread' of launch 1"},
        Bad{"launches = [{time = \"1 us\", spread = nan}]", "'spread' of launch 1"},
        Bad{"launches = [{time = \"1 us\", graph = 1}]", "'graph' of launch 1"},
        Bad{"launches = [{time = \"1 us\"}, {time = \"2 us\"}]",
            "launch 2 of [calibration] repeats"},
        Bad{"products = {}", "'products' of [calibration] is a table"},
        Bad{"products = [{type = \"f64\", m = 1, n = 1, k = 1, time = \"1 us\"}]", "'f64'"},
        Bad{"products = [{type = \"fp8\", m = 1, n = 1, k = 1, time = \"1 us\"}]",
            "which [device.peak] says the device does not compute in"},
        Bad{"products = [{type = \"f32\", m = 0, n = 1, k = 1, time = \"1 us\"}]",
            "'m' of product 1"},
        Bad{"products = [{type = \"f32\", m = 1, n = -1, k = 1, time = \"1 us\"}]",
            "'n' of product"},
        Bad{"products = [{type = \"f32\", m = 1, n = 1, k = 4294967296, time = \"1 us\"}]", "'k'"},
        Bad{"products = [{type = \"f32\", m = 1, n = 1, k = 1, units = 81, time = \"1 us\"}]",
            "'units' of product 1 of [calibration] is 81, wanted a whole number from 1 to 80"},
        Bad{"products = [{type = \"f32\", m = 1, n = 1, k = 1, flops = 2, time = \"1 us\"}]",
            "unknown key 'flops'"},
        Bad{"products = [{type = \"f32\", m = 1, n = 1, k = 1, time = \"1 us\"},"
            "{type = \"f32\", m = 1, n = 1, k = 1, batch = 1, time = \"2 us\"}]",
            "product 2 of [calibration] repeats an earlier one"},
        Bad{"memory = [{pattern = \"gather\", bytes = 1, time = \"1 us\"}]", "'gather'"},
        Bad{"memory = [{pattern = \"copy\", bytes = 0, time = \"1 us\"}]",
            "'bytes' of memory point 1"},
        Bad{"memory = [{pattern = \"copy\", bytes = \"1 MB\", time = \"1 us\"}]", "'bytes'"},
        Bad{"memory = [{pattern = \"copy\", bytes = 9223372036854775807, time = \"1 us\"}]",
            "'bytes'"},
        Bad{"attention = [{type = \"f32\", sequence = 1, time = \"1 us\"}]", "has no 'head_dim'"},
        Bad{"attention = [{type = \"f32\", sequence = 1, head_dim = 100000, time = \"1 us\"}]",
            "'head_dim' of attention point 1"},
        Bad{"attention = [{type = \"f32\", sequence = 1, head_dim = 64, causal = \"yes\", "
            "time = \"1 us\"}]",
            "'causal' of attention point 1"},
        Bad{"attention = [{type = \"f32\", sequence = 1, head_dim = 64, heads = 2, time = \"1 "
            "us\"},"
            "{type = \"f32\", sequence = 1, head_dim = 64, heads = 4, time = \"1 us\"}]",
            "attention point 2 of [calibration] repeats"},
        Bad{"collectives = [{kind = \"gossip\", level = \"inner\", ranks = 2, bytes = 1, "
            "time = \"1 us\"}]",
            "'gossip'"},
        Bad{"collectives = [{kind = \"broadcast\", level = \"iner\", ranks = 2, bytes = 1, "
            "time = \"1 us\"}]",
            "did you mean 'inner'?"},
        Bad{"collectives = [{kind = \"broadcast\", level = \"inner\", ranks = 1, bytes = 1, "
            "time = \"1 us\"}]",
            "'ranks' of collective 1"},
        Bad{"collectives = [{kind = \"broadcast\", level = \"inner\", ranks = 9, bytes = 1, "
            "time = \"1 us\"}]",
            "but level 'inner' joins 8"},
        Bad{"collectives = [{kind = \"broadcast\", level = \"inner\", ranks = 2, bytes = 1, "
            "time = \"1 us\"}, {kind = \"broadcast\", level = \"inner\", ranks = 2, bytes = 1, "
            "time = \"1 us\"}]",
            "collective 2 of [calibration] repeats"},
        Bad{"products = [", ""}));

// Every prefix of a file is read or refused, and nothing behind it is read.
TEST(CalibrationFile, PrefixesAreReadOrRefused) {
  std::string text = std::string(base) + curves;
  int refused = 0;
  for (size_t length = 0; length < text.size(); length += 3) {
    Result<SystemDescription> system = parseDescription(text.substr(0, length), "box.toml");
    refused += !system.ok();
    if (!system) {
      EXPECT_FALSE(system.error().message.empty());
    }
  }
  EXPECT_GT(refused, 100);
}

// Every file with one changed character is read or refused.
TEST(CalibrationFile, ChangedCharactersAreReadOrRefused) {
  std::string text = std::string(base) + curves;
  int refused = 0;
  for (size_t at = std::string(base).size(); at < text.size(); ++at)
    for (char changed : {'"', '9', ']', '-', '\0'}) {
      std::string other = text;
      other[at] = changed;
      Result<SystemDescription> system = parseDescription(other, "box.toml");
      refused += !system.ok();
      if (system) {
        EXPECT_TRUE(resolve(*system, 0, 0).ok());
      }
    }
  EXPECT_GT(refused, 1000);
}

TEST(WithCalibration, ReplacesTheCurves) {
  Calibration calibration;
  calibration.machine = "the box";
  calibration.products = {{ComputeType::BF16, 8, 8, 8, 1, 108, {1e-6, 3, 0.5}}};
  Result<std::string> text = withCalibration("dgx-a100-80g", calibration);
  ASSERT_TRUE(text.ok()) << text.error().text();
  Result<Topology> topology = parseTopology(*text, "measured.toml", 2);
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_EQ(topology->numDevices(), 16);
  EXPECT_EQ(topology->device.calibration->machine, "the box");
  EXPECT_EQ(topology->device.calibration->products.size(), 1U);
}

TEST(WithCalibration, RefusesWhatTheReaderWould) {
  Calibration calibration;
  calibration.collectives = {{CollectiveKind::AllReduce, "no such", 2, 8, {1e-6}}};
  Result<std::string> text = withCalibration("dgx-a100-80g", calibration);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().message.find("level 'no such'"), std::string::npos);
  EXPECT_FALSE(withCalibration("absent.toml", Calibration()).ok());
}
