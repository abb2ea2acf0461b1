// The hardware that a plan is made for: one kind of device and the links between devices, from the
// inside out.
#pragma once

#include "compiler/support/Error.h"

#include <array>
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

// One device, with the figures of its data sheet; what of them is reached is for compiler/cost to
// say.
struct DeviceKind {
  std::string name; // "H100-SXM5-80GB"
  DeviceClass deviceClass = DeviceClass::Gpu;
  int64_t memoryBytes = 0;
  double memoryBandwidth = 0;                      // bytes/s
  std::array<double, numComputeTypes> peakFlops{}; // dense flop/s by ComputeType; 0: not supported
  double launchLatency = 0;                        // seconds to start one kernel
  int64_t computeUnits = 1; // multiprocessors of a GPU, cores of a CPU device

  double peak(ComputeType type) const { return peakFlops[static_cast<size_t>(type)]; }
};

enum class LinkKind { NvLink, Pcie, InfiniBand, Ethernet, SharedMemory };

llvm::StringRef nameOf(LinkKind kind); // "nvlink", "pcie", "ib", "ethernet", "shm"

// One level of the hierarchy joins `groupSize` devices (innermost level) or groups of the level
// below. Bandwidth is per device and direction while all devices of the level communicate, so that
// a link which several devices share is divided among them: one 200 Gbit/s adapter for 8 devices
// is 3.125 GB/s.
struct LinkLevel {
  std::string name;
  LinkKind kind = LinkKind::Ethernet;
  int64_t groupSize = 1;
  double bandwidth = 0; // bytes/s
  double latency = 0;   // seconds per hop
  bool inNetworkReduction = false;
  double oversubscription =
      1; // of a switched fabric; the bandwidth across it is bandwidth / oversubscription

  double effectiveBandwidth() const { return bandwidth / oversubscription; }
};

// A system with its number of devices decided. Ranks are numbered along the hierarchy: rank r and r
// + 1 differ at the innermost level first. The product of the levels' group sizes is numDevices();
// a level of one group is left out, so a single device has no levels.
struct Topology {
  std::string name, description;
  DeviceKind device;
  std::vector<LinkLevel> levels; // inside out
  int64_t nodes = 1, devicesPerNode = 1;

  int64_t numDevices() const { return nodes * devicesPerNode; }
  // Devices within one group of level `level`. Example: 16 for level 1 of two DGX nodes, 8 for
  // level 0.
  int64_t devicesWithin(size_t level) const;
};

// The names of the catalogue, sorted: "cpu", "dgx-a100-80g", "dgx-h100".
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
