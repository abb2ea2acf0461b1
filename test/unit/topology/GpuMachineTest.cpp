// Tests the discovery of this machine's GPUs with a stand-in for NVIDIA's library.
#include "compiler/describe/topology/GpuMachine.h"
#include "compiler/describe/topology/Commands.h"
#include "compiler/describe/topology/LoadTopology.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace dtc;

namespace {

class FakeNvml : public testing::Test {
protected:
  void TearDown() override {
    unsetenv("DTC_FAKE_NVML");
    unsetenv("HWLOC_XMLFILE");
  }
  static void machineIs(const char *name) { setenv("DTC_FAKE_NVML", name, 1); }
  const std::string library = DTC_FAKE_NVML_LIBRARY;
};

} // namespace

TEST_F(FakeNvml, ReportsGpusBehindSwitches) {
  machineIs("h100");
  NvmlReport report = queryNvml(library);
  EXPECT_EQ(report.problem, "");
  ASSERT_EQ(report.gpus.size(), 4u);
  const NvmlGpu &second = report.gpus[1];
  EXPECT_EQ(second.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(second.busId, "0000:28:00.0");
  EXPECT_EQ(second.vendor, 0x10deu);
  EXPECT_EQ(second.device, 0x2330u);
  EXPECT_EQ(second.memoryBytes, int64_t(81559) << 20);
  EXPECT_EQ(second.computeCapability, 90);
  ASSERT_EQ(second.links.size(), 18u);
  EXPECT_EQ(second.links[3].remoteBusId, "0000:08:00.0");
  EXPECT_FALSE(second.links[3].toGpu);
}

// The figures are the catalogue's, with the memory of this GPU and the links that are up.
TEST_F(FakeNvml, BecomesATopology) {
  machineIs("h100");
  std::optional<Inventory> inventory = discoverGpus(library);
  ASSERT_TRUE(inventory.has_value());
  Result<SystemDescription> system = describeInventory(*inventory, "");
  ASSERT_TRUE(system.ok()) << system.error().text();
  EXPECT_EQ(system->device.name, "H100-SXM5-80GB");
  EXPECT_EQ(system->device.memoryBytes, int64_t(81559) << 20);
  EXPECT_EQ(system->device.peak(ComputeType::BF16), 989.4e12);
  EXPECT_EQ(system->devicesPerNode, 4);
  ASSERT_GE(system->levels.size(), 1u);
  EXPECT_EQ(system->levels[0].kind, LinkKind::NvLink);
  EXPECT_EQ(system->levels[0].bandwidth, 18 * 25e9);
  EXPECT_TRUE(system->levels[0].inNetworkReduction);
}

// hwloc tells the bridges of GPUs and adapters. The rate of a slot replaces a rate that only the
// machine itself knows.
TEST_F(FakeNvml, TakesItsPlaceInTheMachine) {
  machineIs("h100");
  setenv("HWLOC_XMLFILE", DTC_SOURCE_DIR "/test/topology/Inputs/hwloc-two-sockets.xml", 1);
  std::optional<Inventory> inventory = discoverGpus(library);
  ASSERT_TRUE(inventory.has_value());
  EXPECT_EQ(inventory->processor, "AuthenticAMD");
  EXPECT_EQ(inventory->gpus[0].cpu, "0");
  EXPECT_EQ(inventory->gpus[0].bridges, (std::vector<std::string>{"0000:11:00.0"}));
  EXPECT_EQ(inventory->gpus[1].cpu, "1");
  EXPECT_TRUE(inventory->gpus[1].bridges.empty());
  ASSERT_EQ(inventory->adapters.size(), 2u);
  EXPECT_EQ(inventory->adapters[0].name, "mlx5_0");
  EXPECT_EQ(inventory->adapters[0].kind, LinkKind::InfiniBand);
  EXPECT_EQ(inventory->adapters[0].bridges, inventory->gpus[0].bridges);
  EXPECT_EQ(inventory->adapters[0].bandwidth, 63e9);
  EXPECT_EQ(inventory->adapters[1].kind, LinkKind::Efa);
  // The adapter beside a GPU is the network, and its 4 GPUs share it.
  Result<SystemDescription> system = describeInventory(*inventory, "");
  ASSERT_TRUE(system.ok()) << system.error().text();
  ASSERT_EQ(system->levels.size(), 2u);
  EXPECT_EQ(system->levels[1].kind, LinkKind::InfiniBand);
  EXPECT_EQ(system->levels[1].bandwidth, 63e9 / 4);
}

// The figures of a GPU that is not in the catalogue follow from its clocks and cores: 142
// multiprocessors.
TEST_F(FakeNvml, DescribesAGpuByItsClocks) {
  machineIs("rtx");
  std::optional<Inventory> inventory = discoverGpus(library);
  ASSERT_TRUE(inventory.has_value());
  Result<SystemDescription> system = describeInventory(*inventory, "");
  ASSERT_TRUE(system.ok()) << system.error().text();
  const DeviceKind &device = system->device;
  EXPECT_EQ(device.name, "NVIDIA RTX 6000 Ada Generation");
  EXPECT_EQ(device.computeUnits, 142);
  // The data sheet has 91.1 TFLOP/s f32, 364.2 f16, 728.5 FP8, 960 GB/s.
  EXPECT_NEAR(device.peak(ComputeType::F32), 91.1e12, 0.1e12);
  EXPECT_NEAR(device.peak(ComputeType::BF16), 364.2e12, 0.2e12);
  EXPECT_NEAR(device.peak(ComputeType::FP8), 728.5e12, 0.3e12);
  EXPECT_NEAR(device.memoryBandwidth, 960e9, 0.2e9);
  ASSERT_GE(system->levels.size(), 1u);
  EXPECT_EQ(system->levels[0].shape, LinkShape::Direct);
  EXPECT_EQ(system->levels[0].bandwidth, 4 * 14.0625e9);
}

TEST_F(FakeNvml, WritesAFileThatIsATopology) {
  machineIs("h100");
  std::string out, errors;
  llvm::raw_string_ostream outStream(out), errorStream(errors);
  ASSERT_EQ(runTopologyDiscover("", outStream, errorStream, library), 0) << errors;
  EXPECT_EQ(out.find("# Found by 'dtc topology discover' through NVML and hwloc"), 0u) << out;
  Result<Topology> topology = parseTopology(out, "found.toml");
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_EQ(topology->name, "discovered");
  EXPECT_EQ(topology->numDevices(), 4);
}

TEST_F(FakeNvml, SaysWhyThereIsNoGpu) {
  machineIs("broken");
  EXPECT_EQ(queryNvml(library).problem, "nvmlInit_v2: Driver Not Loaded");
  machineIs("hidden");
  EXPECT_EQ(queryNvml(library).problem, "NVML finds no GPU that this process may use");
  EXPECT_EQ(queryNvml("libm.so.6").problem, "libm.so.6 lacks nvmlInit_v2 or nvmlDeviceGetCount_v2");
  EXPECT_NE(queryNvml("libabsent-nvml.so").problem.find("libabsent-nvml.so: cannot open"),
            std::string::npos);
  // The machine is then described by its processor.
  machineIs("broken");
  EXPECT_FALSE(discoverGpus(library).has_value());
  std::string out, errors;
  llvm::raw_string_ostream outStream(out), errorStream(errors);
  EXPECT_EQ(runTopologyDiscover("", outStream, errorStream, library), 0) << errors;
  EXPECT_NE(out.find("class = \"cpu\""), std::string::npos);
}

TEST_F(FakeNvml, BelievesNoCountThatNoMachineHas) {
  machineIs("many");
  EXPECT_EQ(queryNvml(library).gpus.size(), 4u); // GPUs with a handle
}

TEST(DeviceOfNvml, NeedsWhatAFigureComesFrom) {
  NvmlGpu gpu;
  gpu.name = "X";
  gpu.computeCapability = 90;
  gpu.memoryBytes = 1;
  gpu.cores = 16896;
  gpu.coreClockHz = 1830e6;
  gpu.memoryClockHz = 2619e6;
  gpu.memoryBusBits = 5120;
  ASSERT_TRUE(deviceOfNvml(gpu).has_value());
  EXPECT_EQ(deviceOfNvml(gpu)->computeUnits, 132);
  // The data sheet's 989.4 TFLOP/s are at 1830 MHz.
  EXPECT_NEAR(deviceOfNvml(gpu)->peak(ComputeType::BF16), 989.4e12, 0.1e12);
  NvmlGpu old = gpu;
  old.computeCapability = 35;
  EXPECT_FALSE(deviceOfNvml(old).has_value());
  NvmlGpu silent = gpu;
  silent.coreClockHz = 0;
  EXPECT_FALSE(deviceOfNvml(silent).has_value());
}
