// Builds topologies of published rows: an entry of the catalogue with the row's figures.
#include "bench/planner/Case.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace dtc::published {
namespace {

// A device by its name in tables; the first match counts. Figures of 0 are the catalogue's.
struct KnownDevice {
  llvm::StringRef name;      // start of the cell
  llvm::StringRef catalogue; // system
  llvm::StringRef device;    // name under which errors are reported
  double memoryGiB = 0, memoryBandwidth = 0;
  double peakShare = 1; // share of the catalogue's peaks
};

constexpr KnownDevice knownDevices[] = {
    // 500 W, HBM2e of 2.4 TB/s; the lower clock is this device's own constant. torchtitan's
    // docs/performance.md.
    {"H100-94GB", "dgx-h100", "H100 500W", 94, 2.4e12, 0.80},
    {"H100", "dgx-h100", "H100"},
    {"H800", "dgx-h100", "H100"},
    {"GH200", "dgx-h100", "H100", 96, 4.0e12},
    {"H200", "dgx-h200", "H200"},
    {"H20", "dgx-h200", "H20", 96, 4.0e12, 0.15},
    {"GB200", "gb200-nvl72", "GB200"},
    {"GB300", "gb300-nvl72", "GB300"},
    {"B200", "dgx-b200", "B200"},
    {"B300", "dgx-b300", "B300"},
    {"A100-40GB", "dgx-a100-40g", "A100 40G"},
    {"A100", "dgx-a100-80g", "A100 80G"},
    {"A800", "dgx-a100-80g", "A100 80G"},
    {"Ampere", "dgx-a100-80g", "A100 80G"},
    {"V100-32GB (DGX-2)", "dgx-2", "V100"},
    {"V100-SXM2-16GB", "dgx-v100", "V100", 16},
    {"V100-16GB", "dgx-v100", "V100", 16},
    {"V100", "dgx-v100", "V100"},
    {"MI300X", "mi300x", "MI300X"},
    {"MI355X", "mi355x", "MI355X"},
    {"L4", "g6.48xlarge", "L4"},
    {"TPU v4", "tpu-v4", "TPU v4"},
    {"TPU v5e", "tpu-v5e", "TPU v5e"},
    {"TPU v5p", "tpu-v5p", "TPU v5p"},
};

// One NeuronCore-v2 of a trn1.32xlarge: AWS, "NeuronCore-v2 Architecture" and "Trn1/Trn1n
// Architecture" (a chip is two cores: 190 TFLOP/s, 32 GiB, 820 GB/s; 384 GB/s of NeuronLink).
constexpr llvm::StringRef trainium = R"(
name = "trn1.32xlarge"
description = "AWS trn1.32xlarge: 32 NeuronCores-v2"
nodes = 1
devices_per_node = 32
[device]
name = "NeuronCore-v2"
class = "gpu"
memory = "16 GiB"
memory_bandwidth = "410 GB/s"
compute_units = 1
launch_latency = "10 us"
[device.peak]
f32 = "23.75 TFLOP/s"
bf16 = "95 TFLOP/s"
f16 = "95 TFLOP/s"
[[level]]
name = "neuronlink"
kind = "nvlink"
group = 32
bandwidth = "96 GB/s"
latency = "2 us"
[[level]]
name = "efa"
kind = "efa"
bandwidth = "25 Gbit/s"
latency = "15 us"
)";

// Returns true if a cell names a device among other words: "NVIDIA H100 SXM" is an H100, "GB200" no
// B200 and "L40" no L4.
bool names(llvm::StringRef cell, llvm::StringRef device) {
  for (size_t at = 0; (at = cell.find_insensitive(device, at)) != llvm::StringRef::npos; ++at) {
    bool starts = at == 0 || !llvm::isAlnum(cell[at - 1]);
    size_t end = at + device.size();
    if (starts && (end == cell.size() || !llvm::isDigit(cell[end])))
      return true;
  }
  return false;
}

const KnownDevice *knownDevice(llvm::StringRef name) {
  // Names of TPUs are written with and without a space or a dash.
  std::string spelt = name.str();
  for (llvm::StringRef version : {"v4", "v5e", "v5p"})
    if (name.contains_insensitive("tpu") && name.contains_insensitive(version))
      spelt = "TPU " + version.str();
  // An A100 with this much memory may be written in several ways.
  if (names(name, "A100") && name.contains_insensitive("40G"))
    spelt = "A100-40GB";
  for (const KnownDevice &known : knownDevices)
    if (names(spelt, known.name))
      return &known;
  return nullptr;
}

// Returns two levels, nodes and a switch between them, for sizes that the catalogue's levels do not
// divide.
Topology twoLevels(const Topology &base, int64_t devices, int64_t perNode) {
  Topology topology = base;
  topology.levels.clear();
  LinkLevel inner = base.levels.front();
  inner.groupSize = std::min(devices, perNode);
  inner.subsetBandwidth.clear();
  if (inner.shape == LinkShape::Direct)
    inner.shape = LinkShape::Switch;
  LinkLevel outer = base.levels.size() > 1 ? base.levels[1] : base.levels.front();
  outer.groupSize = (devices + perNode - 1) / perNode;
  outer.shape = LinkShape::Switch;
  if (inner.groupSize > 1)
    topology.levels.push_back(inner);
  if (outer.groupSize > 1)
    topology.levels.push_back(outer);
  topology.nodes = outer.groupSize;
  topology.devicesPerNode = inner.groupSize;
  return topology;
}

Result<Topology> load(llvm::StringRef name, int64_t nodes, int64_t devices) {
  if (name == "trn1")
    return parseTopology(trainium, "trn1.toml", nodes, devices);
  return loadTopology(name.str(), nodes, devices);
}

// Returns the catalogue's system with any number of devices.
Result<Topology> sized(llvm::StringRef name, int64_t devices, int64_t perNode) {
  Result<Topology> base = load(name, 0, 0);
  if (!base)
    return base;
  int64_t own = std::max<int64_t>(1, base->devicesPerNode);
  if (perNode == 0 || perNode == own || devices <= std::min(perNode, own)) {
    Result<Topology> exact = load(name, (devices + own - 1) / own, devices);
    if (exact)
      return exact;
    perNode = std::max(perNode, own);
  }
  // Two nodes or more have the level between nodes.
  for (int64_t nodes : {own == 4 ? 36 : 2, 4, 64})
    if (Result<Topology> wide = load(name, nodes, nodes * own); wide && wide->levels.size() > 1)
      return twoLevels(*wide, devices, own == 4 && devices > 72 ? 64 : perNode);
  return twoLevels(*base, devices, perNode);
}

// Sets NVLink and the network to the row's figures. Cells are GB/s of both directions together for
// a GPU inside a node, and Gbit/s of one direction for a GPU or a node between nodes.
void applyLinks(const Row &row, int64_t perNode, Topology &topology) {
  std::optional<double> intra = row.number("intra_bw_GBs"),
                        inter = row.number("inter_bw_Gbps_per_gpu_or_node");
  llvm::StringRef cell = row.text("inter_bw_Gbps_per_gpu_or_node");
  for (size_t i = 0; i < topology.levels.size(); ++i) {
    LinkLevel &level = topology.levels[i];
    bool inside = level.kind == LinkKind::NvLink || level.kind == LinkKind::InfinityFabric;
    if (inside && intra && level.shape == LinkShape::Switch)
      level.bandwidth = *intra / 2 * 1e9;
    bool between = level.kind == LinkKind::InfiniBand || level.kind == LinkKind::Efa ||
                   level.kind == LinkKind::Ethernet;
    if (between && inter)
      level.bandwidth = *inter * 1e9 / 8 / (cell.contains("node") ? perNode : 1);
  }
}

} // namespace

Result<Topology> topologyOf(const Row &row) {
  llvm::StringRef name = row.text("gpu");
  const KnownDevice *known = knownDevice(name);
  bool isTrainium = name.contains_insensitive("trainium") || name.contains_insensitive("trn1");
  if (!known && !isTrainium)
    return UserError(name.empty() ? "the source does not state the device"
                                  : "a device that the catalogue does not have: " + name.str());
  if (!row.count("n_gpus"))
    return UserError("the source does not state the number of devices");
  int64_t devices = *row.count("n_gpus"), perNode = row.countOr("gpus_per_node", 0);
  if (devices > (int64_t(1) << 18))
    return UserError("more devices than a topology may have");
  Result<Topology> topology = sized(isTrainium ? "trn1" : known->catalogue, devices, perNode);
  if (!topology)
    return UserError("a topology that can't be resolved: " + topology.error().message);
  topology->description = isTrainium ? "Trn1" : known->device.str();
  applyLinks(row, perNode ? perNode : topology->devicesPerNode, *topology);
  DeviceKind &device = topology->device;
  if (known && known->memoryGiB > 0)
    device.memoryBytes = static_cast<int64_t>(known->memoryGiB * 1024) << 20;
  if (known && known->memoryBandwidth > 0)
    device.memoryBandwidth = known->memoryBandwidth;
  if (known)
    for (double &peak : device.peakFlops)
      peak *= known->peakShare;
  // Matrix products of 4 bits have twice the rate of 8 bits, on GB300 and B300 three times (NVIDIA
  // GB200 and GB300 NVL72 data sheets, dense); 4 layers of 80 stay in 16 bits (Megatron-Bridge's
  // recipe).
  if (row.text("precision") == "nvfp4")
    device.peakFlops[static_cast<size_t>(ComputeType::FP8)] /=
        0.95 / (topology->description.find("300") != std::string::npos ? 3 : 2) + 0.05 * 2;
  return topology;
}

} // namespace dtc::published
