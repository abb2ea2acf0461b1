// The hardware that a plan is made for: kinds of devices, and the links between them from the
// inside out.
#pragma once

#include "compiler/describe/topology/Levels.h"
#include "compiler/support/Error.h"
#include "dialects/graph/Precision.h"

#include <array>
#include <memory>
#include <vector>

namespace dtc {

// The formats in which matrix products are computed. TF32 is stored as f32.
enum class ComputeType { F32, TF32, BF16, F16, FP8 };
constexpr int numComputeTypes = 5;

// The facts about a compute type.
struct ComputeTypeRow {
  ComputeType value;
  llvm::StringRef name; // in topology files
};
// All compute types, in order.
inline constexpr ComputeTypeRow kComputeTypes[] = {
    {ComputeType::F32, "f32"}, {ComputeType::TF32, "tf32"}, {ComputeType::BF16, "bf16"},
    {ComputeType::F16, "f16"}, {ComputeType::FP8, "fp8"},
};
static_assert(isInOrder(kComputeTypes) && std::size(kComputeTypes) == numComputeTypes);
// Returns the name of a compute type: "tf32".
constexpr llvm::StringRef nameOf(ComputeType type) { return rowOf(kComputeTypes, type).name; }
// Returns the names of all compute types, in order.
inline constexpr auto kComputeTypeNames = nameColumn(kComputeTypes);

// Returns the type in which products of a precision are computed.
ComputeType computeTypeOf(Precision precision);

// The class of a device. For Cpu a device is a process, and the processes of a node share its
// cores, memory and bandwidth.
enum class DeviceClass { Cpu, Gpu };

struct Calibration; // compiler/describe/topology/Calibration.h

// The share of the host that one GPU has while all GPUs of the node use it. All 0 if unknown. In a
// description it is the host's own memory and bandwidth.
// Example: a device of a DGX H100 has 256 GiB at 77 GB/s.
struct HostShare {
  int64_t memoryBytes = 0;
  double memoryBandwidth = 0; // bytes/s
  double linkBandwidth = 0;   // bytes/s between device and host, each direction

  // Returns true if the host's figures are known.
  bool isKnown() const { return memoryBytes > 0; }
};

// One device with the figures of its data sheet. compiler/price/cost decides how much of them is
// reached.
struct DeviceKind {
  std::string name; // "H100-SXM5-80GB"
  DeviceClass deviceClass = DeviceClass::Gpu;
  int64_t memoryBytes = 0;
  double memoryBandwidth = 0; // bytes/s
  // dense flop/s by ComputeType; 0 if not supported
  std::array<double, numComputeTypes> peakFlops{};
  double launchLatency = 0; // seconds to start one kernel
  double graphLatency = 0;  // the same within a replayed graph; 0 if equal to launchLatency
  int64_t computeUnits = 1; // multiprocessors of a GPU, cores of a CPU device
  std::shared_ptr<const Calibration> calibration; // measured curves, or null
  HostShare host;

  // Returns the seconds to start one kernel within a replayed graph.
  double replayLatency() const { return graphLatency > 0 ? graphLatency : launchLatency; }
  // Returns the dense flop/s of products in `type`, 0 if not supported.
  double peak(ComputeType type) const { return peakFlops[static_cast<size_t>(type)]; }
  // Returns the host behind the device. A CPU is its own host: copies are within its memory, and
  // each is a read and a write.
  HostShare hostShare() const {
    return deviceClass == DeviceClass::Cpu
               ? HostShare{memoryBytes, memoryBandwidth, memoryBandwidth / 2}
               : host;
  }
};

struct PartLink;

// Consecutive ranks with one kind of device and equal links: a part of a heterogeneous system, or a
// range without differing slow links. Planners match stages to groups.
// Example: 8 nodes of 8 GPUs, of which node 3 has a slow adapter, are three groups: {0, 24}, {24,
// 8} and {32, 32}.
struct DeviceGroup {
  DeviceKind device;
  int64_t firstDevice = 0, numDevices = 0; // ranks firstDevice to firstDevice + numDevices - 1
  int64_t nodes = 1, devicesPerNode = 1;
  size_t part = 0;
  std::vector<LinkLevel> levels; // levels of the whole part, with the figures of these devices
};

// A system with its number of devices decided. Ranks are numbered along the hierarchy: ranks r and
// r + 1 differ at the innermost level first. The product of the levels' group sizes is
// numDevices(). A level of one group is left out, so a single device has no levels.
//
// A heterogeneous system has parts. Each is a homogeneous topology with its own ranks, one part
// after the other. Its `device` and `levels` are then those of a homogeneous system that is nowhere
// better than the real one: the worst of each figure, and one level with the slowest link. The same
// applies to the levels of a system with slow links. The better figures are in the groups.
struct Topology {
  std::string name, description;
  DeviceKind device;
  std::vector<LinkLevel> levels;         // inside out
  int64_t nodes = 1, devicesPerNode = 1; // heterogeneous: all nodes, and the largest node
  std::vector<Topology> parts;           // empty if all devices are equal
  std::vector<PartLink> partLinks;       // between each two parts
  std::vector<DeviceGroup> groups;       // in rank order; one group if devices and links are equal
  // Equal for equal descriptions and machines, measured curves included. "" if the topology was not
  // read from text. It does not depend on the numbers of nodes and devices.
  std::string fingerprint;

  // Returns true if the system has no parts.
  bool isHomogeneous() const { return parts.empty(); }
  // Returns true if the system is homogeneous and has no slow links.
  bool isUniform() const { return parts.empty() && groups.size() <= 1; }
  // Returns the number of devices of the whole system.
  int64_t numDevices() const;
  // Returns the mean flop/s of products in `type` over all devices. Devices without that type count
  // with f32.
  double meanPeak(ComputeType type) const;
  // Returns the usual precision of training here: BF16 if all devices have a rate for it, F16 if
  // they have only that (V100), else F32. On CPUs it is F32.
  Precision usualPrecision() const;
  // Returns the number of devices within one group of level `level`. Example: 16 for level 1 of two
  // DGX nodes, 8 for level 0.
  int64_t devicesWithin(size_t level) const;

  // Returns the part of a rank, or 0 if there are no parts.
  size_t partOf(int64_t rank) const;
  // Returns the first rank of a part, or 0 if there are no parts.
  int64_t firstRankOf(size_t part) const;
  // Returns the kind of device of a rank.
  const DeviceKind &deviceOf(int64_t rank) const;
  // Returns the levels of a homogeneous topology with the figures of these ranks: the worst of each
  // if one of them has a slow link.
  std::vector<LinkLevel> levelsOf(llvm::ArrayRef<int64_t> ranks) const;
  // Returns the link between two parts, in either order, or null if there is none, as within a
  // part.
  const PartLink *linkBetween(size_t part, size_t other) const;

  // Returns `count` ranks from `first` as a system of their own, which prices work that runs on
  // these ranks alone. If levels are cut so that they are not filled evenly, the result has the
  // worst levels of any of the ranks.
  // Example: ranks 8 to 15 of two DGX nodes are one DGX; ranks 4 to 11 are two nodes of 4.
  Topology slice(int64_t first, int64_t count) const;
};

// The link between two parts of a heterogeneous system. Its bandwidth is that of one direction, for
// all traffic between the two.
struct PartLink {
  size_t first = 0, second = 0;
  LinkLevel link;
};

// Fills in the figures that a whole system gets from its parts: counts, groups, and a device and
// level that are nowhere better than those of a part.
void summarizeParts(Topology &whole);

// The way from one set of ranks to another: the bytes/s that all senders move together while all
// send at the same time, and the latency of one message in seconds.
struct Path {
  double bandwidth = 0, latency = 0;
};
// Returns the path between two sets of ranks. Ranks are paired in order, and the shorter list is
// repeated. An empty list reaches nothing.
// Example: from the 8 ranks of a DGX H100 to those of the next node it is {400e9, 2.7e-6}.
Path pathBetween(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                 const Topology &topology);

} // namespace dtc
