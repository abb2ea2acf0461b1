// Tests secondsOf and collectiveSeconds for a topology with measured curves.
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/Cost.h"
#include "compiler/price/cost/OpCost.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dtc;

namespace {

DeviceKind gpu() {
  DeviceKind device;
  device.name = "made-up";
  device.memoryBandwidth = 1e12;
  device.memoryBytes = int64_t(80) << 30;
  device.peakFlops[static_cast<size_t>(ComputeType::F32)] = 10e12;
  device.peakFlops[static_cast<size_t>(ComputeType::BF16)] = 100e12;
  device.peakFlops[static_cast<size_t>(ComputeType::F16)] = 100e12;
  device.launchLatency = 5e-6;
  device.computeUnits = 100;
  return device;
}

LinkLevel level(const std::string &name, int64_t groupSize, double bandwidth) {
  LinkLevel level;
  level.name = name;
  level.kind = LinkKind::InfiniBand;
  level.groupSize = groupSize;
  level.bandwidth = bandwidth;
  level.latency = 5e-6;
  return level;
}

Topology twoNodes() {
  Topology topology;
  topology.name = "two nodes";
  topology.device = gpu();
  topology.levels = {level("inner", 8, 100e9), level("outer", 2, 20e9)};
  topology.nodes = 2;
  topology.devicesPerNode = 8;
  return topology;
}

template <typename Change> DeviceKind calibrated(Change change) {
  DeviceKind device = gpu();
  Calibration calibration;
  calibration.device = gpu();
  calibration.levels = twoNodes().levels;
  change(calibration);
  device.calibration = std::make_shared<const Calibration>(std::move(calibration));
  return device;
}

ProductPoint product(int64_t m, int64_t n, int64_t k, double seconds) {
  return {ComputeType::BF16, m, n, k, 1, 100, {seconds, 9, 0.01}};
}

OpWork memoryWork(double bytes) {
  OpWork work;
  work.bytes = bytes;
  return work;
}

OpWork attentionWork(int64_t sequence, bool backward) {
  OpWork work;
  work.kind = WorkKind::Attention;
  work.type = ComputeType::BF16;
  work.m = work.n = sequence;
  work.k = 64;
  work.batch = 16;
  work.causal = true;
  work.backward = backward;
  double length = static_cast<double>(sequence);
  work.flops = (backward ? 4.0 : 2.0) * 16 * length * length * 64;
  work.bytes = (backward ? 8.0 : 4.0) * 2 * 16 * length * 64;
  return work;
}

CollectivePoint collective(int64_t ranks, int64_t bytes, double seconds) {
  return {CollectiveKind::AllReduce, "inner", ranks, bytes, {seconds, 9, 0.01}};
}

} // namespace

TEST(CalibratedProducts, AreWhatWasMeasuredAtThePoints) {
  DeviceKind device = calibrated([](Calibration &calibration) {
    calibration.products = {product(1024, 4096, 1024, 300e-6), product(4096, 4096, 1024, 1e-3)};
  });
  EXPECT_NEAR(secondsOf(productWork(1024, 4096, 1024, 1, ComputeType::BF16), device), 300e-6,
              1e-15);
  EXPECT_NEAR(secondsOf(productWork(4096, 4096, 1024, 1, ComputeType::BF16), device), 1e-3, 1e-14);
}

TEST(CalibratedProducts, KeepTheEfficiencyOfTheNearestBeyond) {
  DeviceKind device = calibrated([](Calibration &calibration) {
    calibration.products = {product(1024, 4096, 1024, 300e-6), product(4096, 4096, 1024, 1e-3)};
  });
  OpWork large = productWork(65536, 4096, 1024, 1, ComputeType::BF16);
  OpWork nearest = productWork(4096, 4096, 1024, 1, ComputeType::BF16);
  EXPECT_NEAR(secondsOf(large, device), secondsOf(large, gpu()) * 1e-3 / secondsOf(nearest, gpu()),
              1e-12);
}

TEST(CalibratedProducts, FallBackToTheModelForAnotherType) {
  DeviceKind device = calibrated(
      [](Calibration &calibration) { calibration.products = {product(1024, 1024, 1024, 1e-3)}; });
  OpWork work = productWork(1024, 1024, 1024, 1, ComputeType::F32);
  EXPECT_EQ(secondsOf(work, device), secondsOf(work, gpu()));
  // f16 runs on the units of bf16.
  work = productWork(1024, 1024, 1024, 1, ComputeType::F16);
  EXPECT_NEAR(secondsOf(work, device), 1e-3, 1e-15);
  // The same applies to work of unknown shape.
  work.m = 0;
  EXPECT_EQ(secondsOf(work, device), secondsOf(work, gpu()));
}

TEST(CalibratedMemory, IsInterpolatedInBytes) {
  DeviceKind device = calibrated([](Calibration &calibration) {
    for (auto [bytes, seconds] : {std::pair(1 << 20, 8e-6), std::pair(1 << 26, 100e-6)})
      calibration.memory.push_back({MemoryPattern::Triad, bytes, 100, {seconds}});
    calibration.memory.push_back({MemoryPattern::Copy, 1 << 20, 100, {1}}); // a triad is nearer
  });
  EXPECT_NEAR(secondsOf(memoryWork(1 << 20), device), 8e-6, 1e-15);
  EXPECT_NEAR(secondsOf(memoryWork(1 << 26), device), 100e-6, 1e-15);
  EXPECT_NEAR(secondsOf(memoryWork(1 << 23), device), std::sqrt(800e-12), 1e-12);
  double last = 0;
  for (double bytes = 16; bytes < 1e11; bytes *= 1.3) {
    double seconds = secondsOf(memoryWork(bytes), device);
    EXPECT_GE(seconds, last);
    last = seconds;
  }
  // Arithmetic still counts.
  OpWork busy = memoryWork(1 << 20);
  busy.flops = 1e12;
  EXPECT_EQ(secondsOf(busy, device), secondsOf(busy, gpu()));
  EXPECT_EQ(secondsOf(memoryWork(0), device), 0);
}

// The triad is used on a GPU, and the fused chain on a CPU.
TEST(CalibratedMemory, IsOfThePatternThatProgramsAreNearestTo) {
  for (DeviceClass of : {DeviceClass::Gpu, DeviceClass::Cpu}) {
    DeviceKind device = calibrated([&](Calibration &calibration) {
      calibration.device.deviceClass = of;
      for (auto [pattern, seconds] : {std::pair(MemoryPattern::Copy, 1e-3),
                                      {MemoryPattern::Triad, 2e-3},
                                      {MemoryPattern::Pointwise, 3e-3}})
        calibration.memory.push_back({pattern, 1 << 20, 100, {seconds, 9, 0.01}});
    });
    device.deviceClass = of;
    EXPECT_NEAR(secondsOf(memoryWork(1 << 20), device), of == DeviceClass::Gpu ? 2e-3 : 3e-3,
                1e-12);
  }
}

// Single launches take 5 us. Work of 10 us or more hides the next launch. Work of 5 us may be only
// a launch, of which a graph saves 4. The time between is linear, and nothing is shorter than a
// graph's launch.
TEST(CalibratedMemory, IsShorterInReplayedGraphs) {
  auto replayed = [](double measured) {
    DeviceKind device = calibrated([&](Calibration &calibration) {
      calibration.memory = {{MemoryPattern::Triad, 1 << 20, 100, {measured, 9, 0.01}}};
    });
    device.graphLatency = 1e-6;
    EXPECT_NEAR(secondsOf(memoryWork(1 << 20), device), measured, 1e-15);
    return secondsOf(memoryWork(1 << 20), device, Launch::Replayed);
  };
  EXPECT_NEAR(replayed(12e-6), 12e-6, 1e-15);
  EXPECT_NEAR(replayed(10e-6), 10e-6, 1e-15);
  EXPECT_NEAR(replayed(7.5e-6), 5.5e-6, 1e-15);
  EXPECT_NEAR(replayed(5e-6), 1e-6, 1e-15);
  EXPECT_NEAR(replayed(2e-6), 1e-6, 1e-15);
}

TEST(CalibratedAttention, HasACurveForEachPass) {
  DeviceKind device = calibrated([](Calibration &calibration) {
    for (bool backward : {false, true})
      for (int64_t sequence : {512, 2048}) {
        AttentionPoint point;
        point.type = ComputeType::BF16;
        point.sequence = sequence;
        point.headDim = 64;
        point.heads = 16;
        point.units = 100;
        point.causal = true;
        point.backward = backward;
        point.time.seconds = static_cast<double>(sequence) * (backward ? 3e-6 : 1e-6);
        calibration.attention.push_back(point);
      }
  });
  EXPECT_NEAR(secondsOf(attentionWork(512, false), device), 512e-6, 1e-14);
  EXPECT_NEAR(secondsOf(attentionWork(2048, true), device), 6144e-6, 1e-14);
  // Full attention was not measured, so it has the efficiency of causal attention in the same pass.
  OpWork full = attentionWork(512, true);
  full.causal = false;
  full.flops *= 2;
  EXPECT_NEAR(secondsOf(full, device),
              secondsOf(full, gpu()) * 1536e-6 / secondsOf(attentionWork(512, true), gpu()), 1e-12);
}

TEST(CalibratedCollectives, AreWhatWasMeasuredAtThePoints) {
  Topology topology = twoNodes(), plain = twoNodes();
  topology.device = calibrated([](Calibration &calibration) {
    calibration.collectives = {collective(8, 1 << 16, 60e-6), collective(8, 1 << 24, 900e-6),
                               collective(2, 1 << 16, 20e-6), collective(2, 1 << 24, 500e-6)};
  });
  auto seconds = [&](double bytes, const RankGroup &group) {
    return collectiveSeconds(CollectiveKind::AllReduce, bytes, group, topology);
  };
  auto model = [&](double bytes, const RankGroup &group) {
    return collectiveSeconds(CollectiveKind::AllReduce, bytes, group, plain);
  };
  EXPECT_NEAR(seconds(1 << 16, {{8, 1}}), 60e-6, 1e-14);
  EXPECT_NEAR(seconds(1 << 24, {{2, 1}}), 500e-6, 1e-14);
  EXPECT_NEAR(seconds(1 << 20, {{8, 1}}), std::sqrt(60e-6 * 900e-6), 1e-12);
  double last = 0;
  for (double bytes = 64; bytes < 1e10; bytes *= 1.3) {
    EXPECT_GE(seconds(bytes, {{8, 1}}), last * (1 - 1e-12)) << bytes;
    last = seconds(bytes, {{8, 1}});
  }
  // Four ranks are half way between two and eight.
  double two = 20e-6 / model(1 << 16, {{2, 1}}), eight = 60e-6 / model(1 << 16, {{8, 1}});
  EXPECT_NEAR(seconds(1 << 16, {{4, 1}}), model(1 << 16, {{4, 1}}) * std::sqrt(two * eight), 1e-12);
  // Other kinds, levels, and groups over both levels use the model.
  EXPECT_EQ(seconds(1 << 20, {{2, 8}}), model(1 << 20, {{2, 8}}));
  EXPECT_EQ(seconds(1 << 20, {{16, 1}}), model(1 << 20, {{16, 1}}));
  EXPECT_EQ(collectiveSeconds(CollectiveKind::AllGather, 1e6, {{8, 1}}, topology),
            collectiveSeconds(CollectiveKind::AllGather, 1e6, {{8, 1}}, plain));
}

// A file has the figures of the whole node, which its processes share.
TEST(CalibratedCpu, KeepsWhatEachNumberOfCoresReached) {
  const char *file = R"(
name = "box"
[device]
name = "X"
class = "cpu"
memory = "16 GiB"
memory_bandwidth = "40 GB/s"
compute_units = 4
launch_latency = "5 us"
peak = { f32 = "400 GFLOP/s" }
[[level]]
name = "memory"
kind = "shm"
bandwidth = "10 GB/s"
latency = "5 us"
[calibration]
launches = [ { units = 4, time = "20 us" }, { units = 1, time = "100 ns" } ]
products = [
  { type = "f32", m = 512, n = 512, k = 512, units = 4, time = "1 ms" },
  { type = "f32", m = 512, n = 512, k = 512, units = 1, time = "3 ms" },
]
memory = [
  { pattern = "triad", bytes = 1048576, units = 4, time = "100 us" },
  { pattern = "triad", bytes = 1048576, units = 1, time = "200 us" },
]
collectives = [ { kind = "all-reduce", level = "memory", ranks = 4, bytes = 65536, time = "70 us" } ]
)";
  OpWork work = productWork(512, 512, 512, 1, ComputeType::F32);
  Result<Topology> one = parseTopology(file, "box.toml", 1, 1);
  ASSERT_TRUE(one.ok()) << one.error().text();
  EXPECT_NEAR(secondsOf(work, one->device), 1e-3, 1e-12);
  EXPECT_NEAR(secondsOf(memoryWork(1 << 20), one->device), 100e-6, 1e-12);
  EXPECT_EQ(one->device.launchLatency, 20e-6);
  Result<Topology> four = parseTopology(file, "box.toml", 1, 4);
  ASSERT_TRUE(four.ok()) << four.error().text();
  EXPECT_NEAR(secondsOf(work, four->device), 3e-3, 1e-12);
  EXPECT_NEAR(secondsOf(memoryWork(1 << 20), four->device), 200e-6, 1e-12);
  EXPECT_EQ(four->device.launchLatency, 100e-9);
  EXPECT_NEAR(collectiveSeconds(CollectiveKind::AllReduce, 65536, {{4, 1}}, *four), 70e-6, 1e-12);
  // The CPU computes bf16 in f32.
  work.type = ComputeType::BF16;
  EXPECT_NEAR(secondsOf(work, four->device), 3e-3, 1e-12);
}

TEST(CalibratedDevice, CopiesShareTheirCurves) {
  DeviceKind device = calibrated(
      [](Calibration &calibration) { calibration.products = {product(1024, 1024, 1024, 1e-3)}; });
  DeviceKind copy = device;
  EXPECT_EQ(copy.calibration.get(), device.calibration.get());
  OpWork work = productWork(1024, 1024, 1024, 1, ComputeType::BF16);
  EXPECT_EQ(secondsOf(work, copy), secondsOf(work, device));
  // A copy of the points has its own curves.
  Calibration changed = *device.calibration;
  changed.products[0].time.seconds = 2e-3;
  copy.calibration = std::make_shared<const Calibration>(changed);
  EXPECT_NEAR(secondsOf(work, copy), 2e-3, 1e-15);
  EXPECT_NEAR(secondsOf(work, device), 1e-3, 1e-15);
}
