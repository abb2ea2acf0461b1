// Finds NVML's GPUs at their places in hwloc's tree.
#include "compiler/describe/topology/GpuMachine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <hwloc.h>

#include <map>

namespace dtc {
namespace {

// Figures per multiprocessor of a compute capability: CUDA cores, and flops per cycle of dense f16
// products with f32 sums. Sources: NVIDIA's white papers of V100, Turing, A100, GA102, Ada, H100,
// Blackwell.
struct Multiprocessor {
  int64_t from;
  int64_t cores;
  double f16Flops;
};
constexpr Multiprocessor multiprocessors[] = {{120, 128, 1024}, {100, 128, 8192}, {90, 128, 4096},
                                              {86, 128, 1024},  {80, 64, 2048},   {70, 64, 1024}};

std::string firstLine(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().split('\n').first.str() : "";
}

using PciAttributes = decltype(hwloc_obj_attr_u::pcidev);

std::string busIdOf(const PciAttributes &pci) {
  char text[32];
  snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain), pci.bus,
           pci.dev, pci.func);
  return text;
}

// Returns the bridges above an object, outermost first, without the host's bridge.
std::vector<std::string> bridgesAbove(hwloc_obj_t object) {
  std::vector<std::string> bridges;
  for (hwloc_obj_t above = object->parent; above && hwloc_obj_type_is_io(above->type);
       above = above->parent)
    if (above->type == HWLOC_OBJ_BRIDGE &&
        above->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
      bridges.insert(bridges.begin(), busIdOf(above->attr->bridge.upstream.pci));
  // The port of the processor is a bridge too, and a switch behind it has one more bridge for each
  // device.
  if (bridges.size() > 1)
    bridges.erase(bridges.begin());
  return bridges;
}

std::string numaNodeOf(hwloc_topology_t topology, hwloc_obj_t object) {
  hwloc_obj_t above = hwloc_get_non_io_ancestor_obj(topology, object);
  return above && above->nodeset ? std::to_string(hwloc_bitmap_first(above->nodeset)) : "";
}

// Returns the rate in a line in bytes/s: "400 Gb/sec (4X NDR)" gives 5e10. Returns 0 if there is no
// such number.
double rateOf(llvm::StringRef line) {
  double gigabits = 0;
  return !llvm::to_float(line.split(' ').first, gigabits) || gigabits <= 0 ? 0 : gigabits * 1e9 / 8;
}

class Tree {
public:
  Tree() {
    if (hwloc_topology_init(&topology) != 0)
      return;
    isOpen = true;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    isLoaded = hwloc_topology_load(topology) == 0;
  }
  ~Tree() {
    if (isOpen)
      hwloc_topology_destroy(topology);
  }
  Tree(const Tree &) = delete;
  Tree &operator=(const Tree &) = delete;

  void place(InventoryGpu &gpu) const {
    hwloc_obj_t object =
        isLoaded ? hwloc_get_pcidev_by_busidstring(topology, gpu.busId.c_str()) : nullptr;
    if (!object)
      return;
    gpu.bridges = bridgesAbove(object);
    gpu.cpu = numaNodeOf(topology, object);
  }

  std::vector<InventoryAdapter> adapters() const {
    std::vector<InventoryAdapter> fabrics, cards;
    if (!isLoaded)
      return fabrics;
    // The hardware of an XML file (HWLOC_XMLFILE) has no files here.
    bool isHere = hwloc_topology_is_thissystem(topology);
    for (hwloc_obj_t device = hwloc_get_next_osdev(topology, nullptr); device;
         device = hwloc_get_next_osdev(topology, device)) {
      bool isFabric = device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
      if (!isFabric && device->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK)
        continue;
      if (!device->parent || device->parent->type != HWLOC_OBJ_PCI_DEVICE)
        continue; // a virtual device
      (isFabric ? fabrics : cards).push_back(adapterOf(device, isFabric, isHere));
    }
    return fabrics.empty() ? cards : fabrics;
  }

  std::string processor() const {
    hwloc_obj_t package =
        isLoaded ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : nullptr;
    const char *vendor = package ? hwloc_obj_get_info_by_name(package, "CPUVendor") : nullptr;
    return vendor ? vendor : "";
  }

private:
  InventoryAdapter adapterOf(hwloc_obj_t device, bool isFabric, bool isHere) const {
    const PciAttributes &pci = device->parent->attr->pcidev;
    InventoryAdapter adapter;
    adapter.name = device->name ? device->name : "";
    adapter.bridges = bridgesAbove(device->parent);
    adapter.cpu = numaNodeOf(topology, device);
    constexpr unsigned short amazon = 0x1d0f, infiniBandClass = 0x0207;
    std::string folder = "/sys/class/infiniband/" + adapter.name + "/ports/1/";
    std::string layer = isHere && isFabric ? firstLine(folder + "link_layer") : "";
    adapter.kind =
        pci.vendor_id == amazon && isFabric ? LinkKind::Efa
        : layer == "InfiniBand" || (layer.empty() && isFabric && pci.class_id == infiniBandClass)
            ? LinkKind::InfiniBand
            : LinkKind::Ethernet;
    double megabits = 0;
    if (isHere && isFabric)
      adapter.bandwidth = rateOf(firstLine(folder + "rate"));
    else if (isHere &&
             llvm::to_float(firstLine("/sys/class/net/" + adapter.name + "/speed"), megabits) &&
             megabits > 0)
      adapter.bandwidth = megabits * 1e6 / 8;
    if (adapter.bandwidth <= 0) // at most what its slot can carry
      adapter.bandwidth = static_cast<double>(pci.linkspeed) * 1e9;
    return adapter;
  }

  hwloc_topology_t topology = nullptr;
  bool isOpen = false, isLoaded = false;
};

} // namespace

std::optional<DeviceKind> deviceOfNvml(const NvmlGpu &gpu) {
  const Multiprocessor *kind = nullptr;
  for (const Multiprocessor &each : multiprocessors)
    if (!kind && gpu.computeCapability >= each.from)
      kind = &each;
  if (!kind || gpu.cores < kind->cores || gpu.coreClockHz <= 0 || gpu.memoryBytes <= 0 ||
      gpu.memoryClockHz <= 0 || gpu.memoryBusBits <= 0)
    return std::nullopt;
  DeviceKind device;
  device.name = gpu.name;
  device.deviceClass = DeviceClass::Gpu;
  device.memoryBytes = gpu.memoryBytes;
  // Two transfers per cycle.
  device.memoryBandwidth = 2 * gpu.memoryClockHz * static_cast<double>(gpu.memoryBusBits) / 8;
  device.computeUnits = gpu.cores / kind->cores;
  device.launchLatency = 4e-6; // this and the next as for the catalogue's GPUs
  device.graphLatency = 0.5e-6;
  auto peak = [&](ComputeType type) -> double & {
    return device.peakFlops[static_cast<size_t>(type)];
  };
  double products = static_cast<double>(device.computeUnits) * kind->f16Flops * gpu.coreClockHz;
  peak(ComputeType::F32) = static_cast<double>(gpu.cores) * 2 * gpu.coreClockHz;
  peak(ComputeType::F16) = products;
  if (gpu.computeCapability >= 80) {
    peak(ComputeType::BF16) = products;
    peak(ComputeType::TF32) = products / 2;
  }
  if (gpu.computeCapability >= 89)
    peak(ComputeType::FP8) = products * 2;
  return device;
}

std::optional<Inventory> discoverGpus(const std::string &nvmlLibrary) {
  NvmlReport report = queryNvml(nvmlLibrary);
  if (report.gpus.empty())
    return std::nullopt;
  Inventory inventory;
  inventory.source = "machine";
  Tree tree;
  for (const NvmlGpu &found : report.gpus) {
    InventoryGpu gpu;
    gpu.busId = found.busId;
    gpu.rank = static_cast<int64_t>(inventory.gpus.size());
    gpu.vendor = found.vendor;
    gpu.device = found.device;
    gpu.computeCapability = found.computeCapability;
    // PCIe 1 has 2.5 GT/s per lane, 2 has 5, and each later generation about twice as much as the
    // one before.
    constexpr double transfers[] = {8, 2.5, 5, 8, 16, 32, 64};
    size_t generation = found.pcieGeneration < 7 ? static_cast<size_t>(found.pcieGeneration) : 0;
    gpu.pcieBandwidth = pcieBandwidth(std::to_string(transfers[generation]), found.pcieLanes);
    gpu.kind = deviceOfPciId(found.vendor, found.device);
    if (gpu.kind && found.memoryBytes > 0)
      gpu.kind->memoryBytes = found.memoryBytes;
    else if (!gpu.kind)
      gpu.kind = deviceOfNvml(found);
    std::map<std::string, InventoryLink> links;
    for (const NvmlLink &link : found.links) {
      InventoryLink &sum = links[link.remoteBusId];
      sum.target = link.remoteBusId;
      sum.toSwitch = !link.toGpu;
      ++sum.count;
    }
    for (auto &[target, link] : links)
      gpu.links.push_back(link);
    tree.place(gpu);
    inventory.gpus.push_back(std::move(gpu));
  }
  inventory.adapters = tree.adapters();
  inventory.processor = tree.processor();
  return inventory;
}

} // namespace dtc
