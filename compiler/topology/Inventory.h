// What a machine with GPUs consists of, from whatever source, and the topology that it makes.
// Internal to this folder.
#pragma once

#include "compiler/topology/Description.h"

namespace dtc {

// Links of one GPU to one other end.
struct InventoryLink {
  std::string target; // bus id of the other end
  bool toSwitch = false;
  int64_t count = 0;
};

struct InventoryGpu {
  std::string host; // "" where there is one
  std::string cpu;  // NUMA node
  std::string busId;
  std::vector<std::string> bridges; // bus ids of the PCIe bridges above it, outermost first
  double pcieBandwidth = 0;         // bytes/s of one direction; 0: unknown
  std::vector<InventoryLink> links;
  bool infinityFabric = false; // whether the links are AMD's
  int64_t rank = 0;            // the order of the GPUs
  uint32_t vendor = 0, device = 0;
  int64_t computeCapability = 0;  // 90: sm_90; 0: unknown
  std::optional<DeviceKind> kind; // its own figures, where the source has them
  SourcePlace place;              // for errors
};

struct InventoryAdapter {
  std::string host, cpu, name;
  std::vector<std::string> bridges;
  double bandwidth = 0; // bytes/s of one direction
  double latency = 0;   // seconds that its library reports; 0: none
  LinkKind kind = LinkKind::Ethernet;
};

struct Inventory {
  std::string source; // "NCCL topology dump a.xml", for the file's description
  std::vector<InventoryGpu> gpus;
  std::vector<InventoryAdapter> adapters;
  std::string processor; // "AuthenticAMD", "GenuineIntel", or ""
};

// The figures of the catalogue's device with this PCI vendor and device, or nothing.
std::optional<DeviceKind> deviceOfPciId(uint32_t vendor, uint32_t device);

// GB/s to bytes/s of one PCIe link: "16.0 GT/s PCIe" and 16 lanes are 31.5e9. What cannot be read
// is taken as NCCL takes it: 8 GT/s, 16 lanes.
double pcieBandwidth(llvm::StringRef speed, int64_t lanes);

// Levels from the inside out: NVLink or Infinity Fabric by what the GPUs are linked to, else PCIe
// switches, sockets and the host; then one level of the adapters near the GPUs. The device is
// `deviceName`'s (a system of the catalogue), or, where that is "", the GPUs' own. Errors: no GPUs,
// GPUs of several kinds, hosts with different numbers of GPUs, an unknown kind.
Result<SystemDescription> describeInventory(const Inventory &inventory,
                                            const std::string &deviceName);

} // namespace dtc
