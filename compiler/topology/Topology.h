// The hardware that a plan is made for: kinds of devices and the links between them, from the
// inside out.
#pragma once

#include "compiler/support/Error.h"

#include <array>
#include <memory>
#include <vector>

namespace dtc {

// The formats in which matrix products are computed. TF32 is f32 in memory.
enum class ComputeType { F32, TF32, BF16, F16, FP8 };
constexpr int numComputeTypes = 5;

llvm::StringRef nameOf(ComputeType type); // "f32", "tf32", "bf16", "f16", "fp8"
// Example: computeTypeFrom("bf16") is BF16; computeTypeFrom("int8") is nothing.
std::optional<ComputeType> computeTypeFrom(llvm::StringRef name);

// Cpu: a device is a process, and the processes of a node share its cores, memory and bandwidth.
enum class DeviceClass { Cpu, Gpu };

struct Calibration; // compiler/topology/Calibration.h

// The host behind a GPU, as far as one device has it to itself while all of the node use it; all 0
// where nobody said. Of a description: the host's own memory and bandwidth.
// Example: of a DGX H100 a device has 256 GiB at 77 GB/s.
struct HostShare {
  int64_t memoryBytes = 0;
  double memoryBandwidth = 0; // bytes/s
  double linkBandwidth = 0;   // bytes/s between device and host, each direction

  bool isKnown() const { return memoryBytes > 0; }
};

// One device, with the figures of its data sheet; what of them is reached is for compiler/cost to
// say.
struct DeviceKind {
  std::string name; // "H100-SXM5-80GB"
  DeviceClass deviceClass = DeviceClass::Gpu;
  int64_t memoryBytes = 0;
  double memoryBandwidth = 0;                      // bytes/s
  std::array<double, numComputeTypes> peakFlops{}; // dense flop/s by ComputeType; 0: not supported
  double launchLatency = 0;                        // seconds to start one kernel
  double graphLatency = 0;  // the same within a graph that is replayed; 0: as launchLatency
  int64_t computeUnits = 1; // multiprocessors of a GPU, cores of a CPU device
  std::shared_ptr<const Calibration> calibration; // measured curves, or null
  HostShare host;

  double replayLatency() const { return graphLatency > 0 ? graphLatency : launchLatency; }
  double peak(ComputeType type) const { return peakFlops[static_cast<size_t>(type)]; }
  // What is behind the device. A CPU is its own host: copies are within its memory, a read and a write.
  HostShare hostShare() const {
    return deviceClass == DeviceClass::Cpu
               ? HostShare{memoryBytes, memoryBandwidth, memoryBandwidth / 2}
               : host;
  }
};

enum class LinkKind {
  NvLink,
  InfinityFabric, // AMD's links between GPUs
  Ici,            // a TPU's links to its neighbours
  Pcie,
  InfiniBand,
  Efa, // AWS's adapters: Ethernet with a reliable datagram of their own
  Ethernet,
  SharedMemory
};

// "nvlink", "xgmi", "ici", "pcie", "ib", "efa", "ethernet", "shm"
llvm::StringRef nameOf(LinkKind kind);

// How a level joins its groups; it decides what `LinkLevel::bandwidth` means.
enum class LinkShape {
  Switch,     // all reach each other at the bandwidth: an NVSwitch, a tier of a fat tree
  HostBridge, // one bridge that all of the level share: a PCIe box
  Direct,     // a link of its own between each two groups: bandwidth is the sum of a device's links
  Torus,      // neighbours along each axis: bandwidth is of one link in one direction
  Rail,       // a leaf switch per position in the node: same position stays on its leaf
  Dragonfly   // links between each two groups, which traffic may also reach through a third
};

llvm::StringRef nameOf(LinkShape shape); // "switch", "host-bridge", "direct", "torus", "rail", ...

// One level of the hierarchy joins `groupSize` devices (innermost level) or groups of the level
// below. Bandwidth is per device and direction while all devices of the level communicate, so that
// a link which several devices share is divided among them: one 200 Gbit/s adapter for 8 devices
// is 3.125 GB/s.
struct LinkLevel {
  std::string name;
  LinkKind kind = LinkKind::Ethernet;
  LinkShape shape = LinkShape::Switch;
  int64_t groupSize = 1;
  double bandwidth = 0; // bytes/s
  double latency = 0;   // seconds per hop of a small message
  bool inNetworkReduction = false;
  double oversubscription =
      1; // of a switched fabric; the bandwidth across it is bandwidth / oversubscription

  double sharedBandwidth = 0;          // host-bridge: bytes/s of the bridge, for all that cross it
  std::vector<double> subsetBandwidth; // direct, may be empty: bytes/s of a device within the first
                                       // 2, 3, .. groups
  std::vector<int64_t>
      dims;             // torus: sizes of the axes, innermost first; their product is groupSize
  int64_t wrapFrom = 3; // torus: the shortest axis whose ends are joined; 0: none
  double crossRail = 0; // rail: oversubscription of the way between rails over the spine; 0:
                        // traffic changes rails inside the node

  // Bytes/s of one device while all communicate; of a torus, of one link.
  double effectiveBandwidth() const { return bandwidth / oversubscription; }
};

struct PartLink;

// Consecutive ranks with one kind of device and alike links: a part of a heterogeneous system, or
// what a slow link leaves of it. Planners match stages to these.
// Example: 8 nodes of 8 GPUs, of which node 3 has a slow adapter, are three groups: {0, 24},
// {24, 8} and {32, 32}.
struct DeviceGroup {
  DeviceKind device;
  int64_t firstDevice = 0, numDevices = 0; // ranks firstDevice to firstDevice + numDevices - 1
  int64_t nodes = 1, devicesPerNode = 1;
  size_t part = 0;
  std::vector<LinkLevel> levels; // of the whole part, with the figures that these devices have
};

// A system with its number of devices decided. Ranks are numbered along the hierarchy: rank r and r
// + 1 differ at the innermost level first. The product of the levels' group sizes is numDevices();
// a level of one group is left out, so a single device has no levels.
//
// A heterogeneous system has parts, each a homogeneous topology with ranks of its own, one part
// after the other. Its `device` and `levels` are then a homogeneous system that is nowhere better
// than the real one: the least of each figure, and one level with the slowest link. So are the
// levels of a system with slow links; what is better than them is in the groups.
struct Topology {
  std::string name, description;
  DeviceKind device;
  std::vector<LinkLevel> levels;         // inside out
  int64_t nodes = 1, devicesPerNode = 1; // of a heterogeneous system: all nodes, the largest node
  std::vector<Topology> parts;           // empty where all devices are alike
  std::vector<PartLink> partLinks;       // between each two parts
  std::vector<DeviceGroup> groups;       // in rank order; one where devices and links are alike
  // Equal for equal descriptions and machines, measured curves included; "" where the topology was
  // not read from text. It does not say how many nodes and devices there are.
  std::string fingerprint;

  bool isHomogeneous() const { return parts.empty(); }
  // Homogeneous, and without slow links.
  bool isUniform() const { return parts.empty() && groups.size() <= 1; }
  int64_t numDevices() const;
  // Flop/s of products in `type`, the mean of all devices; of those that do not have it, in f32.
  double meanPeak(ComputeType type) const;
  // What models are trained in here: "bf16" where all devices have a rate for it, "f16" where they
  // have that only (V100), else "f32"; on CPUs "f32".
  llvm::StringRef usualPrecision() const;
  // Devices within one group of level `level`. Example: 16 for level 1 of two DGX nodes, 8 for
  // level 0.
  int64_t devicesWithin(size_t level) const;

  // The part of a rank, and the first rank of a part; 0 where there are no parts.
  size_t partOf(int64_t rank) const;
  int64_t firstRankOf(size_t part) const;
  const DeviceKind &deviceOf(int64_t rank) const;
  // The levels of a homogeneous topology as these ranks have them: the worst of each where one of
  // them has a slow link.
  std::vector<LinkLevel> levelsOf(llvm::ArrayRef<int64_t> ranks) const;
  // The link between two parts, in either order; null where there is none, as within a part.
  const PartLink *linkBetween(size_t part, size_t other) const;

  // `count` ranks from `first` as a system of their own, which costs what is done on them alone.
  // Where they are cut so that levels are not filled evenly, its levels are the worst that some of
  // them have. Example: ranks 8 to 15 of two DGX nodes are one DGX; ranks 4 to 11 are two nodes
  // of 4.
  Topology slice(int64_t first, int64_t count) const;
};

// The link between two parts of a heterogeneous system. Its bandwidth is one direction's, for all
// traffic between the two.
struct PartLink {
  size_t first = 0, second = 0;
  LinkLevel link;
};

// How a set of ranks reaches another: bytes/s that all of `from` together move while all send at
// the same time, and the latency of one message. Ranks are paired in order, the shorter list
// repeated; an empty list reaches nothing. Example: the 8 ranks of a DGX H100 to those of the next
// node is {400e9, 2.7e-6}.
struct Path {
  double bandwidth = 0, latency = 0;
};
Path pathBetween(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                 const Topology &topology);

// The names of the catalogue, sorted: "cpu", "dgx-a100-40g", ...
std::vector<std::string> catalogueNames();

// Loads a system of the catalogue, or else a topology file. `nodes` 0: as many as the description
// says; `devices` 0: all of them (`cpu`: one). Errors: an unknown name (nearest name), anything
// wrong in a file (its line and column), or counts that the hierarchy cannot be divided into
// (nearest feasible count). Example:
//   loadTopology("dgx-h100", /*nodes=*/2, /*devices=*/0) has 16 devices.
Result<Topology> loadTopology(const std::string &nameOrFile, int64_t nodes = 0,
                              int64_t devices = 0);

// The same from TOML text; `path` is what errors name.
Result<Topology> parseTopology(llvm::StringRef text, const std::string &path, int64_t nodes = 0,
                               int64_t devices = 0);

} // namespace dtc
