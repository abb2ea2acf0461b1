// The GPUs, links and adapters of a machine, from any source, and the topology that they form.
// Internal to this folder.
#pragma once

#include "compiler/describe/topology/Description.h"

namespace dtc {

// Links of one GPU to one other end.
struct InventoryLink {
  std::string target; // bus id of the other end
  bool toSwitch = false;
  int64_t count = 0;
};

// A GPU and its location in the machine.
struct InventoryGpu {
  std::string host; // "" if there is only one host
  std::string cpu;  // NUMA node
  std::string busId;
  std::vector<std::string> bridges; // bus ids of the PCIe bridges above it, outermost first
  double pcieBandwidth = 0;         // bytes/s of one direction; 0: unknown
  std::vector<InventoryLink> links;
  bool infinityFabric = false; // the links are AMD's
  int64_t rank = 0;            // the order of the GPUs
  uint32_t vendor = 0, device = 0;
  int64_t computeCapability = 0;  // 90: sm_90; 0: unknown
  std::optional<DeviceKind> kind; // the GPU's own figures, if the source has them
  SourceLocation location;        // location for errors
};

// A network adapter.
struct InventoryAdapter {
  std::string host, cpu, name;
  std::vector<std::string> bridges;
  double bandwidth = 0; // bytes/s of one direction
  double latency = 0;   // seconds that its library reports; 0 for none
  LinkKind kind = LinkKind::Ethernet;
};

// All GPUs and adapters of a machine.
struct Inventory {
  std::string source; // "NCCL topology dump a.xml", for the file's description
  std::vector<InventoryGpu> gpus;
  std::vector<InventoryAdapter> adapters;
  std::string processor; // "AuthenticAMD", "GenuineIntel", or ""
};

// Returns the figures of the catalogue's device with this PCI vendor and device, or nothing.
std::optional<DeviceKind> deviceOfPciId(uint32_t vendor, uint32_t device);

// Returns the bytes/s of one PCIe link in one direction: "16.0 GT/s PCIe" with 16 lanes gives
// 31.5e9. Text that cannot be read counts as 8 GT/s, and no lanes as 16, as in NCCL.
double pcieBandwidth(llvm::StringRef speed, int64_t lanes);

// Describes the levels from the inside out: NVLink or Infinity Fabric as the GPUs are linked, else
// PCIe switches, sockets and the host; then one level for the adapters near the GPUs. The device is
// that of `deviceName` (a system of the catalogue), or if that is "", the GPUs' own. Errors: no
// GPUs, GPUs of several kinds, hosts with different numbers of GPUs, an unknown kind.
Result<SystemDescription> describeInventory(const Inventory &inventory,
                                            const std::string &deviceName);

} // namespace dtc
