// Compares the systems of the catalogue with the figures of their data sheets.
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/Resolve.h"
#include "compiler/describe/topology/TopologyCatalogue.h"

#include <gtest/gtest.h>

#include <set>

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

namespace {

// Figures that the vendors publish: dense TFLOP/s, the memory's bytes, GB/s and the bandwidth of
// the links between the devices of a node, in one direction. 0 means not supported.
struct DataSheet {
  const char *name;
  double f32, tf32, bf16, f16, fp8;
  double memory, memoryBandwidth;
  int64_t devicesPerNode, computeUnits;
  LinkKind innermost;
  double linkBandwidth;
};
constexpr double GiB = 1 << 30, MiB = 1 << 20, GB = 1e9;
constexpr LinkKind nvlink = LinkKind::NvLink, xgmi = LinkKind::InfinityFabric;
constexpr LinkKind ici = LinkKind::Ici, pcie = LinkKind::Pcie;

// clang-format off
constexpr DataSheet dataSheets[] = {
    // "NVIDIA Tesla V100 GPU architecture" white paper, WP-08608-001, table 1.
    {"p3.16xlarge",       15.7,  0,      0,      125,    0,      16 * GiB,     900,   8,  80,  nvlink, 150},
    {"dgx-v100",          15.7,  0,      0,      125,    0,      32 * GiB,     900,   8,  80,  nvlink, 150},
    {"dgx-2",             15.7,  0,      0,      125,    0,      32 * GiB,     900,   16, 80,  nvlink, 150},
    // "NVIDIA A100 Tensor Core GPU" data sheet, 2021.
    {"p4d.24xlarge",      19.5,  156,    312,    312,    0,      40 * GiB,     1555,  8,  108, nvlink, 300},
    {"dgx-a100-40g",      19.5,  156,    312,    312,    0,      40 * GiB,     1555,  8,  108, nvlink, 300},
    {"dgx-a100-80g",      19.5,  156,    312,    312,    0,      80 * GiB,     2039,  8,  108, nvlink, 300},
    {"perlmutter",        19.5,  156,    312,    312,    0,      40 * GiB,     1555,  4,  108, nvlink, 300},
    // "NVIDIA H100 Tensor Core GPU architecture" white paper, V1.04, tables 1 and 2.
    {"p5.48xlarge",       66.9,  494.7,  989.4,  989.4,  1978.9, 80 * GiB,     3352,  8,  132, nvlink, 450},
    {"dgx-h100",          66.9,  494.7,  989.4,  989.4,  1978.9, 80 * GiB,     3352,  8,  132, nvlink, 450},
    {"grand-teton-h100",  66.9,  494.7,  989.4,  989.4,  1978.9, 80 * GiB,     3352,  8,  132, nvlink, 450},
    // "NVIDIA H200 Tensor Core GPU" data sheet; the memory that NVML reports.
    {"dgx-h200",          66.9,  494.7,  989.4,  989.4,  1978.9, 143771 * MiB, 4800,  8,  132, nvlink, 450},
    // "NVIDIA DGX B200" and "HGX B200" data sheets; the memory that NVML reports.
    {"dgx-b200",          75,    1125,   2250,   2250,   4500,   183359 * MiB, 7700,  8,  148, nvlink, 900},
    {"dgx-b300",          75,    1125,   2250,   2250,   4500,   270 * GB,     7700,  8,  148, nvlink, 900},
    // "NVIDIA GB200 NVL72" and "GB300 NVL72" data sheets, a 72nd of the rack.
    {"gb200-nvl72",       80,    1250,   2500,   2500,   5000,   186 * GB,     8000,  4,  152, nvlink, 900},
    {"gb300-nvl72",       80,    1250,   2500,   2500,   5000,   279 * GB,     8000,  4,  152, nvlink, 900},
    // "NVIDIA L4 Tensor Core GPU" data sheet, halves of the sparse figures; PCIe 4.0 x16.
    {"g6.48xlarge",       30.3,  60,     121,    121,    242.5,  23034 * MiB,  300,   8,  58,  pcie,   31.5},
    // "NVIDIA L40S" data sheet; white papers of GA102, Ada and RTX Blackwell, for products that are
    // added in f32.
    {"l40s",              91.6,  183,    362.05, 362.05, 733,    46068 * MiB,  864,   8,  142, pcie,   31.5},
    {"rtx-3090",          35.6,  35.6,   71,     71,     0,      24576 * MiB,  936,   4,  82,  pcie,   31.5},
    {"rtx-4090",          82.6,  82.6,   165.2,  165.2,  330.3,  24564 * MiB,  1008,  4,  128, pcie,   31.5},
    {"rtx-5090",          104.8, 104.8,  209.5,  209.5,  419,    32607 * MiB,  1792,  4,  170, pcie,   63},
    // "AMD Instinct MI300X" and "MI355X" data sheets; 7 links of 64 and 76.8 GB/s.
    {"mi300x",            163.4, 653.7,  1307.4, 1307.4, 2614.9, 192 * GiB,    5300,  8,  304, xgmi,   448},
    {"mi355x",            157.3, 157.3,  2516.6, 2516.6, 5033.2, 288 * GB,     8000,  8,  256, xgmi,   537.6},
    // Google Cloud's pages of each. f32 is a sixth of bf16, because XLA computes it from bf16.
    {"tpu-v4",            45.8,  0,      275,    0,      0,      32 * GiB,     1200,  4,  2,   ici,    45},
    {"tpu-v5e",           32.8,  0,      197,    0,      0,      16 * GiB,     819,   4,  1,   ici,    45},
    {"tpu-v5p",           76.5,  0,      459,    0,      0,      95 * GiB,     2765,  4,  2,   ici,    90},
};

// A node's memory beside its devices, and its GB/s, from the vendors' pages that the files name.
// Nothing is published for TPUs, and the host of this machine's processes is the machine.
struct HostSheet {
  const char *name;
  double memory, memoryBandwidth;
};
constexpr double TiB = 1024 * GiB;
constexpr HostSheet hostSheets[] = {
    {"p3.16xlarge",       488 * GiB,  153.6},
    {"dgx-v100",          512 * GiB,  136.5},
    {"dgx-2",             1.5 * TiB,  256},
    {"p4d.24xlarge",      1152 * GiB, 281.6},
    {"dgx-a100-40g",      1 * TiB,    409.6},
    {"dgx-a100-80g",      2 * TiB,    409.6},
    {"perlmutter",        256 * GiB,  204.8},
    {"p5.48xlarge",       2 * TiB,    409.6},
    {"dgx-h100",          2 * TiB,    614.4},
    {"grand-teton-h100",  2 * TiB,    614.4},
    {"dgx-h200",          2 * TiB,    614.4},
    {"dgx-b200",          2 * TiB,    716.8},
    {"dgx-b300",          2 * TiB,    716.8},
    {"gb200-nvl72",       944 * GB,   778},
    {"gb300-nvl72",       944 * GB,   778},
    {"g6.48xlarge",       768 * GiB,  409.6},
    {"l40s",              1.5 * TiB,  409.6},
    {"rtx-3090",          128 * GiB,  204.8},
    {"rtx-4090",          256 * GiB,  204.8},
    {"rtx-5090",          256 * GiB,  332.8},
    {"mi300x",            2 * TiB,    614.4},
    {"mi355x",            2 * TiB,    716.8},
};
// clang-format on

} // namespace

// "TFLOP/s" and "GB/s" are read as decimal numbers, exact up to rounding of the last bit.
TEST(Catalogue, HasTheFiguresOfTheDataSheets) {
  for (const DataSheet &sheet : dataSheets) {
    SCOPED_TRACE(sheet.name);
    Topology topology = load(sheet.name);
    const DeviceKind &device = topology.device;
    EXPECT_DOUBLE_EQ(device.peak(ComputeType::F32), sheet.f32 * 1e12);
    EXPECT_DOUBLE_EQ(device.peak(ComputeType::TF32), sheet.tf32 * 1e12);
    EXPECT_DOUBLE_EQ(device.peak(ComputeType::BF16), sheet.bf16 * 1e12);
    EXPECT_DOUBLE_EQ(device.peak(ComputeType::F16), sheet.f16 * 1e12);
    EXPECT_DOUBLE_EQ(device.peak(ComputeType::FP8), sheet.fp8 * 1e12);
    EXPECT_EQ(static_cast<double>(device.memoryBytes), sheet.memory);
    EXPECT_DOUBLE_EQ(device.memoryBandwidth, sheet.memoryBandwidth * 1e9);
    EXPECT_EQ(device.computeUnits, sheet.computeUnits);
    EXPECT_EQ(topology.devicesPerNode, sheet.devicesPerNode);
    ASSERT_FALSE(topology.levels.empty());
    EXPECT_EQ(topology.levels[0].kind, sheet.innermost);
    EXPECT_DOUBLE_EQ(topology.levels[0].bandwidth, sheet.linkBandwidth * 1e9);
  }
}

// A device has its share of the host while all devices of a node use it.
TEST(Catalogue, HasTheFiguresOfTheHosts) {
  std::set<std::string> known{"cpu", "tpu-v4", "tpu-v5e", "tpu-v5p"};
  for (const HostSheet &sheet : hostSheets) {
    SCOPED_TRACE(sheet.name);
    known.insert(sheet.name);
    Topology topology = load(sheet.name);
    auto devices = static_cast<double>(topology.devicesPerNode);
    EXPECT_EQ(static_cast<double>(topology.device.host.memoryBytes), sheet.memory / devices);
    EXPECT_DOUBLE_EQ(topology.device.host.memoryBandwidth, sheet.memoryBandwidth * 1e9 / devices);
    EXPECT_GT(topology.device.host.linkBandwidth, 0);
  }
  for (const std::string &name : catalogueNames()) {
    Topology topology = load(name);
    if (topology.isHomogeneous())
      EXPECT_EQ(known.count(name), 1u) << name;
  }
}

// Every system is in the table above, is this machine, or is made of others.
TEST(Catalogue, HasADataSheetForEachSystem) {
  std::set<std::string> known{"cpu"};
  for (const DataSheet &sheet : dataSheets)
    known.insert(sheet.name);
  for (const std::string &name : catalogueNames()) {
    Topology topology = load(name);
    if (topology.isHomogeneous())
      EXPECT_EQ(known.count(name), 1u) << name;
  }
}

// A system that is printed as TOML reads back as the same system, and its number of nodes may grow.
TEST(Catalogue, PrintsAndReadsBack) {
  for (const std::string &name : catalogueNames()) {
    SCOPED_TRACE(name);
    Result<SystemDescription> system = parseDescription(catalogueText(name), name + ".toml");
    ASSERT_TRUE(system.ok()) << system.error().text();
    EXPECT_EQ(system->name, name);
    EXPECT_FALSE(system->description.empty());
    std::string printed = printDescription(*system);
    Result<SystemDescription> again = parseDescription(printed, "printed.toml");
    ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << printed;
    EXPECT_EQ(printDescription(*again), printed);
    Result<Topology> topology = resolve(*again, 0, 0);
    ASSERT_TRUE(topology.ok()) << topology.error().text();
    EXPECT_EQ(topology->numDevices(), load(name).numDevices());
  }
}

// Each figure of a file has its source or the word "assumed", beside it or above its table.
TEST(Catalogue, NamesItsSources) {
  for (const std::string &name : catalogueNames()) {
    llvm::StringRef text = catalogueText(name);
    EXPECT_TRUE(text.contains("# ")) << name;
    // No data sheet has a latency: its source is on its line or in the table's comment.
    llvm::SmallVector<llvm::StringRef> lines;
    text.split(lines, '\n');
    for (llvm::StringRef line : lines)
      if (line.starts_with("latency"))
        EXPECT_TRUE(line.contains('#')) << name << ": " << line.str();
  }
}

// Each kind of network is in a system that has it.
TEST(Catalogue, HasEachKindOfNetwork) {
  std::set<LinkShape> shapes;
  std::set<LinkKind> kinds;
  std::set<int64_t> domains; // GPUs joined by NVLink
  bool oversubscribed = false;
  std::set<size_t> axes;
  for (const std::string &name : catalogueNames()) {
    Result<SystemDescription> system = parseDescription(catalogueText(name), name);
    ASSERT_TRUE(system.ok());
    for (const LinkLevel &level : system->levels) {
      shapes.insert(level.shape);
      kinds.insert(level.kind);
      oversubscribed = oversubscribed || level.oversubscription > 1;
      if (level.kind == LinkKind::NvLink)
        domains.insert(level.groupSize);
      if (level.shape == LinkShape::Torus)
        axes.insert(level.dims.size());
    }
  }
  EXPECT_EQ(shapes.size(), 6u);
  EXPECT_EQ(kinds.size(), 8u);
  EXPECT_EQ(domains, (std::set<int64_t>{4, 8, 16, 72}));
  EXPECT_EQ(axes, (std::set<size_t>{2, 3}));
  EXPECT_TRUE(oversubscribed);
}

TEST(Catalogue, MeanPeakIsOfWhatEachDeviceComputesIn) {
  Topology fast = load("dgx-h100"), slow = load("dgx-a100-80g", 3);
  EXPECT_EQ(fast.meanPeak(ComputeType::BF16), fast.device.peak(ComputeType::BF16));
  ASSERT_EQ(slow.device.peak(ComputeType::FP8), 0);
  EXPECT_EQ(slow.meanPeak(ComputeType::FP8), slow.device.peak(ComputeType::F32));
  Topology both;
  both.parts = {fast, slow};
  auto ofFast = static_cast<double>(fast.numDevices()),
       ofSlow = static_cast<double>(slow.numDevices());
  EXPECT_DOUBLE_EQ(both.meanPeak(ComputeType::FP8), (fast.device.peak(ComputeType::FP8) * ofFast +
                                                     slow.device.peak(ComputeType::F32) * ofSlow) /
                                                        (ofFast + ofSlow));
}

// This holds for any machine: it has a part of everything, and twice as many processes have half
// each.
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
  for (const ComputeTypeRow &row : kComputeTypes)
    EXPECT_EQ(valueNamed(kComputeTypes, nameOf(row.value)), row.value) << row.name.str();
  EXPECT_EQ(valueNamed(kComputeTypes, "int8"), std::nullopt);
  EXPECT_EQ(nameOf(ComputeType::TF32), "tf32");
}

TEST(Catalogue, SaysWhatModelsAreTrainedInThere) {
  EXPECT_EQ(load("dgx-h100").usualPrecision(), Precision::BF16);
  EXPECT_EQ(load("tpu-v4").usualPrecision(), Precision::BF16);
  EXPECT_EQ(load("dgx-v100").usualPrecision(), Precision::F16);
  EXPECT_EQ(load("mixed-a100-h100").usualPrecision(), Precision::BF16);
  EXPECT_EQ(load("cpu").usualPrecision(), Precision::F32);
}
