// Derives levels of links from an inventory of GPUs, bridges and adapters.
#include "compiler/describe/topology/Inventory.h"

#include "compiler/describe/topology/ParseDescription.h"
#include "compiler/describe/topology/TopologyCatalogue.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace dtc {
namespace {

// Known PCI ids, from the PCI ID repository, pci-ids.ucw.cz.
struct KnownDevice {
  uint32_t vendor, device;
  llvm::StringRef system; // the system of the catalogue with the figures
};
constexpr uint32_t nvidia = 0x10de, amd = 0x1002;
constexpr KnownDevice knownDevices[] = {
    {nvidia, 0x1db1, "p3.16xlarge"},  {nvidia, 0x1db5, "dgx-v100"},
    {nvidia, 0x1db8, "dgx-2"},        {nvidia, 0x20b0, "dgx-a100-40g"},
    {nvidia, 0x20b2, "dgx-a100-80g"}, {nvidia, 0x2330, "dgx-h100"},
    {nvidia, 0x2335, "dgx-h200"},     {nvidia, 0x2901, "dgx-b200"},
    {nvidia, 0x3182, "dgx-b300"},     {nvidia, 0x2941, "gb200-nvl72"},
    {nvidia, 0x31c2, "gb300-nvl72"},  {nvidia, 0x27b8, "g6.48xlarge"},
    {amd, 0x74a1, "mi300x"},          {amd, 0x75a3, "mi355x"}};

// Returns the bytes/s of one direction of one NVLink, by compute capability. From data sheets: P100
// (160 GB/s both directions of 4 links), V100 (300, 6), A100 (600, 12), H100 (900, 18), B200 (1800,
// 18).
double nvlinkBandwidth(int64_t computeCapability) {
  if (computeCapability >= 100)
    return 50e9;
  if (computeCapability >= 86 && computeCapability < 90)
    return 14.0625e9; // A10, A40, RTX: 112.5 GB/s both directions of 4 links
  return computeCapability >= 70 ? 25e9 : 20e9;
}
constexpr double infinityFabricBandwidth = 64e9; // one link of MI300X

// Returns the size of groups of consecutive units with the same key, or nothing if the groups
// differ in size or a key is not consecutive.
std::optional<int64_t> groupSize(llvm::ArrayRef<std::string> keys) {
  std::map<std::string, int64_t> counts;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (counts.count(keys[i]) && keys[i - 1] != keys[i])
      return std::nullopt; // not consecutive
    ++counts[keys[i]];
  }
  for (const auto &[key, count] : counts)
    if (count != counts.begin()->second)
      return std::nullopt;
  return counts.begin()->second;
}

class Describer {
public:
  explicit Describer(const Inventory &inventory) : inventory(inventory) {}

  Result<SystemDescription> run(const std::string &deviceName);

private:
  std::optional<UserError> sortGpus();
  std::optional<UserError> findDevice(const std::string &deviceName);
  void addGpuLinks();
  void addIslands(const std::vector<std::vector<size_t>> &islands);
  // Returns the bandwidth of the first 2, 3, .. of a set of GPUs that are linked with each other.
  std::vector<double> subsetBandwidths(llvm::ArrayRef<size_t> gpus) const;
  void addPcie();
  void addNetwork();

  int64_t linkCount(const InventoryGpu &gpu) const {
    int64_t count = 0;
    for (const InventoryLink &link : gpu.links)
      count += link.count;
    return count;
  }
  double linkBandwidth(const InventoryGpu &gpu) const {
    return gpu.infinityFabric ? infinityFabricBandwidth : nvlinkBandwidth(gpu.computeCapability);
  }
  LinkLevel &addLevel(const char *name, LinkKind kind, int64_t group, double bandwidth,
                      double latency);

  const Inventory &inventory;
  std::vector<InventoryGpu> gpus; // sorted by host and rank
  size_t perHost = 0;
  SystemDescription system;
  size_t unit = 1; // number of consecutive GPUs that the levels so far join
};

LinkLevel &Describer::addLevel(const char *name, LinkKind kind, int64_t group, double bandwidth,
                               double latency) {
  LinkLevel level;
  level.name = name;
  level.kind = kind;
  level.groupSize = group;
  level.bandwidth = bandwidth;
  level.latency = latency;
  system.levels.push_back(std::move(level));
  return system.levels.back();
}

// 1. Orders the GPUs. All hosts must have the same number.
std::optional<UserError> Describer::sortGpus() {
  gpus = inventory.gpus;
  if (gpus.empty())
    return UserError("there is no GPU in the " + inventory.source,
                     "run NCCL on all GPUs of the node while it is written");
  std::map<std::string, size_t> perHostCount;
  std::map<std::string, int64_t> firstRank;
  for (const InventoryGpu &gpu : gpus) {
    ++perHostCount[gpu.host];
    auto [at, isNew] = firstRank.insert({gpu.host, gpu.rank});
    at->second = std::min(at->second, gpu.rank);
  }
  llvm::sort(gpus, [&](const InventoryGpu &a, const InventoryGpu &b) {
    return std::tuple(firstRank[a.host], a.host, a.rank, a.busId) <
           std::tuple(firstRank[b.host], b.host, b.rank, b.busId);
  });
  perHost = perHostCount.begin()->second;
  for (const auto &[host, count] : perHostCount)
    if (count != perHost)
      return UserError("hosts have different numbers of GPUs: " + std::to_string(perHost) +
                           " and " + std::to_string(count),
                       "import a dump of one host, or write a [[part]] for each size of host");
  system.nodes = static_cast<int64_t>(perHostCount.size());
  system.devicesPerNode = static_cast<int64_t>(perHost);
  return std::nullopt;
}

// 2. Finds the figures of the device. All GPUs must be of one kind.
std::optional<UserError> Describer::findDevice(const std::string &deviceName) {
  if (!deviceName.empty()) {
    llvm::StringRef text = catalogueText(deviceName);
    if (text.empty())
      return UserError("--device '" + deviceName + "' is not a system of the catalogue",
                       "'dtc topology list' names them");
    Result<SystemDescription> found = parseDescription(text, deviceName + ".toml");
    if (!found)
      return found.error();
    if (!found->parts.empty() || found->device.deviceClass != DeviceClass::Gpu)
      return UserError("--device '" + deviceName + "' does not have one kind of GPU",
                       "name a system with the GPU of that machine: --device dgx-h100");
    system.device = found->device;
    return std::nullopt;
  }
  const InventoryGpu &first = gpus.front();
  for (const InventoryGpu &gpu : gpus)
    if (gpu.vendor != first.vendor || gpu.device != first.device)
      return UserError("there are two kinds of GPU: '" + llvm::utohexstr(first.vendor, true, 4) +
                           ":" + llvm::utohexstr(first.device, true, 4) + "' and '" +
                           llvm::utohexstr(gpu.vendor, true, 4) + ":" +
                           llvm::utohexstr(gpu.device, true, 4) + "'",
                       "write a [[part]] for each kind, or name one's figures with --device",
                       gpu.location);
  std::optional<DeviceKind> known = first.kind;
  if (!known)
    known = deviceOfPciId(first.vendor, first.device);
  if (!known)
    return UserError("the catalogue has no figures for PCI device '" +
                         llvm::utohexstr(first.vendor, true, 4) + ":" +
                         llvm::utohexstr(first.device, true, 4) + "'",
                     "name a system with the same GPU: --device dgx-h100", first.location);
  system.device = *known;
  return std::nullopt;
}

// 3. NVLink or Infinity Fabric, through switches or directly between GPUs.
void Describer::addGpuLinks() {
  bool all = llvm::all_of(gpus, [&](const InventoryGpu &gpu) { return linkCount(gpu) > 0; });
  if (!all)
    return; // one GPU without links is reached over PCIe, and then so are the others in a ring
  double least = std::numeric_limits<double>::infinity();
  bool switched = true;
  for (const InventoryGpu &gpu : gpus) {
    least = std::min(least, static_cast<double>(linkCount(gpu)) * linkBandwidth(gpu));
    for (const InventoryLink &link : gpu.links)
      switched = switched && link.toSwitch;
  }
  if (switched) {
    // Several hosts in one dump are one domain of NVLink, because NCCL merges them.
    unit = gpus.size();
    if (unit > 1) {
      LinkLevel &level =
          addLevel("nvlink", LinkKind::NvLink, static_cast<int64_t>(unit), least, 0.6e-6);
      level.inNetworkReduction = gpus.front().computeCapability >= 90;
    }
    return;
  }
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < gpus.size(); ++i)
    index[gpus[i].host + "/" + gpus[i].busId] = i;
  std::vector<size_t> island(gpus.size());
  std::iota(island.begin(), island.end(), 0);
  for (size_t i = 0; i < gpus.size(); ++i)
    for (const InventoryLink &link : gpus[i].links) {
      auto other = index.find(gpus[i].host + "/" + link.target);
      if (other == index.end())
        continue;
      size_t from = island[i], to = island[other->second];
      for (size_t &each : island)
        if (each == from)
          each = to;
    }
  std::map<size_t, std::vector<size_t>> islands;
  for (size_t i = 0; i < gpus.size(); ++i)
    islands[island[i]].push_back(i);
  std::vector<std::vector<size_t>> list;
  for (auto &[root, members] : islands)
    list.push_back(members);
  addIslands(list);
}

std::vector<double> Describer::subsetBandwidths(llvm::ArrayRef<size_t> members) const {
  std::vector<double> result;
  for (size_t count = 2; count <= members.size(); ++count) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t i : members.take_front(count)) {
      int64_t links = 0;
      for (const InventoryLink &link : gpus[i].links)
        for (size_t j : members.take_front(count))
          if (link.target == gpus[j].busId)
            links += link.count;
      least = std::min(least, static_cast<double>(links) * linkBandwidth(gpus[i]));
    }
    result.push_back(least);
  }
  return result;
}

// Adds a level for GPUs with direct links, if the islands are of one size and their GPUs have
// consecutive numbers.
void Describer::addIslands(const std::vector<std::vector<size_t>> &islands) {
  size_t size = islands.front().size();
  constexpr size_t maxIsland = 64; // more GPUs are never linked without a switch
  if (size > maxIsland)
    return;
  for (const std::vector<size_t> &members : islands)
    if (members.size() != size || members.back() - members.front() + 1 != size)
      return;
  if (size < 2)
    return;
  std::vector<double> subsets = subsetBandwidths(islands.front());
  for (const std::vector<size_t> &members : islands) {
    std::vector<double> others = subsetBandwidths(members);
    for (size_t i = 0; i < subsets.size(); ++i)
      subsets[i] = std::min(subsets[i], others[i]);
  }
  if (llvm::any_of(subsets, [](double each) { return each <= 0; }))
    subsets.assign(1,
                   // the first few have no links among them, so a subset has no ring
                   subsets.back());
  if (subsets.back() <= 0)
    return;
  bool isAmd = gpus.front().infinityFabric;
  LinkLevel &level =
      addLevel(isAmd ? "xgmi" : "nvlink", isAmd ? LinkKind::InfinityFabric : LinkKind::NvLink,
               static_cast<int64_t>(size), subsets.back(), isAmd ? 0.8e-6 : 0.6e-6);
  level.shape = LinkShape::Direct;
  bool even = true; // all pairs have the same number of links, so no list is needed
  for (size_t i = 0; i < subsets.size(); ++i)
    even = even && std::abs(subsets[i] * static_cast<double>(size - 1) -
                            subsets.back() * static_cast<double>(i + 1)) < 1;
  if (!even && subsets.size() == size - 1)
    level.subsetBandwidth = subsets;
  unit = size;
}

// 4. PCIe: switches, sockets, the host.
void Describer::addPcie() {
  if (unit >= perHost)
    return;
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const InventoryGpu &gpu : gpus)
    bandwidth = std::min(bandwidth, gpu.pcieBandwidth > 0 ? gpu.pcieBandwidth : 15.75e9);
  auto keysOf = [&](const std::function<std::string(const InventoryGpu &)> &keyOf) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < gpus.size(); i += unit)
      keys.push_back(gpus[i].host + "/" + keyOf(gpus[i]));
    return keys;
  };
  auto add = [&](const char *name, std::optional<int64_t> group, double latency) -> LinkLevel * {
    if (!group || *group < 2)
      return nullptr;
    unit *= static_cast<size_t>(*group);
    return &addLevel(name, LinkKind::Pcie, *group, bandwidth, latency);
  };
  add("pcie-switch", groupSize(keysOf([](const InventoryGpu &gpu) {
        return gpu.bridges.empty() ? gpu.busId : gpu.bridges.front();
      })),
      1e-6);
  // Assumed: a host bridge forwards between its ports at the rate of two of them.
  if (LinkLevel *socket =
          add("socket", groupSize(keysOf([](const InventoryGpu &gpu) { return gpu.cpu; })), 1e-6)) {
    socket->shape = LinkShape::HostBridge;
    socket->sharedBandwidth = 2 * bandwidth;
  }
  if (unit >= perHost)
    return;
  if (LinkLevel *host = add("host", static_cast<int64_t>(perHost / unit), 1.5e-6)) {
    // NCCL, src/graph/topo.h: 16 GB/s in one direction between AMD sockets, 22 for Sapphire Rapids,
    // 6 to 10 for older ones. The bridge counts both directions.
    host->shape = LinkShape::HostBridge;
    host->sharedBandwidth = inventory.processor == "AuthenticAMD" ? 32e9 : 20e9;
  }
}

// 5. The adapters under the same bridges as GPUs, or else the fast ones.
void Describer::addNetwork() {
  std::set<std::string> near;
  for (const InventoryGpu &gpu : gpus)
    if (!gpu.bridges.empty())
      near.insert(gpu.host + "/" + gpu.bridges.front());
  double fastest = 0;
  for (const InventoryAdapter &adapter : inventory.adapters)
    fastest = std::max(fastest, adapter.bandwidth);
  std::vector<const InventoryAdapter *> close, fast;
  for (const InventoryAdapter &adapter : inventory.adapters) {
    if (adapter.bandwidth <= 0)
      continue;
    if (!adapter.bridges.empty() && near.count(adapter.host + "/" + adapter.bridges.front()))
      close.push_back(&adapter);
    if (2 * adapter.bandwidth >= fastest)
      fast.push_back(&adapter);
  }
  const auto &used = close.empty() ? fast : close;
  if (used.empty())
    return;
  double sum = 0, latency = 0;
  for (const InventoryAdapter *adapter : used) {
    sum += adapter->bandwidth;
    latency = std::max(latency, adapter->latency);
  }
  LinkKind kind = used.front()->kind;
  const char *name = kind == LinkKind::InfiniBand ? "ib" : kind == LinkKind::Efa ? "efa" : "net";
  // Without a latency from the library: NCCL's hop over InfiniBand, and half of TCP's round trip.
  double usual = kind == LinkKind::InfiniBand ? 2.7e-6 : kind == LinkKind::Efa ? 75e-6 : 25e-6;
  LinkLevel &level = addLevel(name, kind, 0, sum / static_cast<double>(gpus.size()),
                              latency > 0 ? latency : usual);
  if (used.size() == gpus.size() && perHost > 1)
    // one adapter per GPU, so usually a leaf switch per position in the node
    level.shape = LinkShape::Rail;
}

Result<SystemDescription> Describer::run(const std::string &deviceName) {
  if (std::optional<UserError> error = sortGpus())
    return *error;
  if (std::optional<UserError> error = findDevice(deviceName))
    return *error;
  system.name = "imported";
  system.description = std::to_string(perHost) + " " + system.device.name + " a node";
  addGpuLinks();
  addPcie();
  addNetwork();
  if (system.nodes > 1 && unit < gpus.size() &&
      (system.levels.empty() || system.levels.back().groupSize != 0))
    return UserError("the " + inventory.source + " has " + std::to_string(system.nodes) +
                         " hosts, but no network adapter that joins them",
                     "import a dump of one host, and add the network's [[level]]");
  return system;
}

} // namespace

std::optional<DeviceKind> deviceOfPciId(uint32_t vendor, uint32_t device) {
  for (const KnownDevice &known : knownDevices)
    if (known.vendor == vendor && known.device == device)
      if (Result<SystemDescription> found =
              parseDescription(catalogueText(known.system), known.system.str()))
        return found->device;
  return std::nullopt;
}

double pcieBandwidth(llvm::StringRef speed, int64_t lanes) {
  double transfers = 0;
  if (!llvm::to_float(speed.split(' ').first, transfers) || !(transfers > 0) || transfers > 1000)
    transfers = 8;
  if (lanes < 1 || lanes > 32)
    lanes = 16;
  // Up to 5 GT/s, 8 of 10 bits are data; above, 128 of 130.
  double share = transfers <= 5 ? 0.8 : 128.0 / 130;
  return transfers * 1e9 * share * static_cast<double>(lanes) / 8;
}

Result<SystemDescription> describeInventory(const Inventory &inventory,
                                            const std::string &deviceName) {
  return Describer(inventory).run(deviceName);
}

} // namespace dtc
