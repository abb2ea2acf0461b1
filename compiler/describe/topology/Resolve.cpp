// Decides how many devices of a system are used, and how they are divided over its levels.
#include "compiler/describe/topology/Resolve.h"

#include "compiler/describe/topology/Calibration.h"
#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/Groups.h"
#include "compiler/describe/topology/Plural.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

namespace dtc {
namespace {

constexpr int64_t maxDevices = int64_t(1) << 20;

// Returns the largest divisor of `count` that is at most `limit` and whose product with `inside` is
// a whole number of nodes.
int64_t largestShare(int64_t count, int64_t limit, int64_t inside, int64_t perNode) {
  for (int64_t share = std::min(limit, count); share > 1; --share)
    if (count % share == 0 && (inside * share) % perNode == 0)
      return share;
  return 1;
}

// Returns the group size of each level for `devices` devices in nodes of `perNode`, or nothing if
// they cannot be divided. Inside a node a level is filled before the next one is used, so 12
// devices of nodes of 8 cannot be divided and 16 are {8, 2}. Switches between nodes are filled
// evenly: 48 nodes on leaves of 32 are {24, 2}. A domain of NVLink that spans nodes is at least
// half used, so that 64 devices of domains of 72 are {64}, 128 are {64, 2}, and 76 cannot be
// divided.
std::optional<std::vector<int64_t>> divide(llvm::ArrayRef<LinkLevel> levels, int64_t devices,
                                           int64_t perNode) {
  std::vector<int64_t> sizes;
  int64_t inside = 1;
  if (devices > perNode && devices % perNode != 0)
    return std::nullopt;
  for (const LinkLevel &level : levels) {
    int64_t group = level.groupSize ? level.groupSize : devices, size = std::min(group, devices);
    if (inside * size > perNode && devices > size)
      size = largestShare(devices, group, inside, perNode);
    bool isNetwork = inside >= perNode;
    if (devices % size != 0 || (!isNetwork && devices > size && 2 * size <= group))
      return std::nullopt;
    sizes.push_back(size);
    inside *= size;
    devices /= size;
  }
  return devices == 1 ? std::optional(sizes) : std::nullopt;
}

// Returns text such as "8 or 16": the nearest possible counts below and above, at most `limit`.
std::string nearestFeasible(llvm::ArrayRef<LinkLevel> levels, int64_t devices, int64_t perNode,
                            int64_t limit) {
  std::string text;
  for (int64_t below = std::min(devices - 1, limit); below > 0 && text.empty(); --below)
    if (divide(levels, below, perNode))
      text = std::to_string(below);
  for (int64_t above = devices + 1; above <= limit; ++above)
    if (divide(levels, above, perNode))
      return (text.empty() ? "" : text + " or ") + std::to_string(above);
  return text;
}

// Returns the number of devices that the levels can join, at most `maxDevices`.
int64_t capacityOf(llvm::ArrayRef<LinkLevel> levels) {
  int64_t capacity = 1;
  for (const LinkLevel &level : levels)
    capacity = level.groupSize ? std::min(maxDevices, capacity * level.groupSize) : maxDevices;
  return capacity;
}

// Returns the topology with `sizes` groups per level, or nothing if a torus is not filled.
std::optional<Topology> assemble(const SystemDescription &system, std::vector<LinkLevel> levels,
                                 llvm::ArrayRef<int64_t> sizes, int64_t nodes,
                                 int64_t devicesPerNode) {
  Topology topology;
  topology.name = system.name;
  topology.description = system.description;
  topology.device = system.device;
  HostShare &host = topology.device.host;
  host.memoryBytes /= devicesPerNode;
  host.memoryBandwidth /= static_cast<double>(devicesPerNode);
  topology.nodes = nodes;
  topology.devicesPerNode = devicesPerNode;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (!fitLevel(levels[i], sizes[i]))
      return std::nullopt;
    if (sizes[i] > 1)
      topology.levels.push_back(std::move(levels[i]));
  }
  return topology;
}

std::optional<UserError> checkCapacity(const SystemDescription &system,
                                       llvm::ArrayRef<LinkLevel> levels, int64_t nodes,
                                       int64_t devices) {
  int64_t capacity = capacityOf(levels), perNode = devices / std::max<int64_t>(1, nodes);
  if (devices <= capacity)
    return std::nullopt;
  return UserError(
      "the levels of '" + system.name + "' join at most " + plural(capacity, "device") + ", but " +
          plural(nodes, "node") + " with " + plural(devices, "device") + " are asked for",
      "nearest feasible: --nodes " + std::to_string(std::max<int64_t>(1, capacity / perNode)));
}

// The processes of a node share its cores, memory and bandwidth evenly.
Result<Topology> resolveCpu(const SystemDescription &system, int64_t nodes, int64_t devices) {
  if (!devices)
    devices = nodes * system.devicesPerNode;
  if (devices % nodes != 0) {
    int64_t below = devices / nodes * nodes;
    return UserError(plural(devices, "device") + " cannot be divided over " +
                         plural(nodes, "node") + " of '" + system.name + "'",
                     "nearest feasible: --devices " +
                         (below ? std::to_string(below) + " or " : "") +
                         std::to_string(below + nodes));
  }
  int64_t shared = devices / nodes;
  std::vector<LinkLevel> levels = system.levels;
  for (size_t i = 0; i < levels.size(); ++i) {
    levels[i].bandwidth /= static_cast<double>(shared);
    if (i == 0)
      levels[i].groupSize = shared;
  }
  if (std::optional<UserError> error = checkCapacity(system, levels, nodes, devices))
    return *error;
  std::optional<std::vector<int64_t>> sizes = divide(levels, devices, shared);
  std::optional<Topology> topology;
  if (sizes)
    topology = assemble(system, levels, *sizes, nodes, shared);
  if (!topology)
    return UserError(
        plural(devices, "device") + " do not fill the levels of '" + system.name + "' evenly",
        "nearest feasible: --devices " + nearestFeasible(levels, devices, shared, maxDevices));
  DeviceKind &device = topology->device;
  device.memoryBytes = std::max<int64_t>(1, device.memoryBytes / shared);
  device.memoryBandwidth /= static_cast<double>(shared);
  device.computeUnits = std::max<int64_t>(1, device.computeUnits / shared);
  if (device.calibration)
    setLaunches(device, *device.calibration);
  for (double &peak : device.peakFlops)
    peak /= static_cast<double>(shared);
  return *topology;
}

Result<Topology> resolveGpu(const SystemDescription &system, int64_t nodes, int64_t devices) {
  int64_t total = nodes * system.devicesPerNode;
  if (!devices)
    devices = total;
  if (devices > total) {
    int64_t wanted = (devices + system.devicesPerNode - 1) / system.devicesPerNode;
    return UserError("'" + system.name + "' has " + plural(total, "device") + " in " +
                         plural(nodes, "node") + ", but " + std::to_string(devices) +
                         " are asked for",
                     "nearest feasible: --devices " + std::to_string(total) + ", or --nodes " +
                         std::to_string(wanted));
  }
  if (std::optional<UserError> error = checkCapacity(system, system.levels, nodes, devices))
    return *error;
  std::optional<std::vector<int64_t>> sizes = divide(system.levels, devices, system.devicesPerNode);
  int64_t usedNodes = std::max<int64_t>(1, devices / system.devicesPerNode);
  std::optional<Topology> topology;
  if (sizes)
    topology = assemble(system, system.levels, *sizes, usedNodes, devices / usedNodes);
  if (topology)
    return *topology;
  std::string nearest = nearestFeasible(system.levels, devices, system.devicesPerNode, total);
  return UserError(plural(devices, "device") + " do not fill the levels of '" + system.name +
                       "' evenly: more than one group of a level is used in whole groups only",
                   nearest.empty() ? "" : "nearest feasible: --devices " + nearest);
}

// Returns the link of two parts: their own, or else the one for all pairs.
LinkLevel linkOf(const SystemDescription &system, llvm::StringRef a, llvm::StringRef b) {
  const LinkLevel *any = nullptr;
  for (const PartLinkDescription &link : system.partLinks) {
    if ((link.first == a && link.second == b) || (link.first == b && link.second == a))
      return link.link;
    if (link.first.empty())
      any = &link.link;
  }
  assert(any && "every two parts are joined, which the reader checked");
  return *any;
}

} // namespace

// Resolves the parts of a heterogeneous system: their counts, and the links between them. Takes
// nodes and devices from the parts in their order.
static Result<Topology> resolveParts(const SystemDescription &system, int64_t nodes,
                                     int64_t devices) {
  Topology whole;
  whole.name = system.name;
  whole.description = system.description;
  int64_t nodesLeft = nodes, devicesLeft = devices, total = 0;
  std::vector<size_t> indices; // positions in the description
  for (size_t i = 0; i < system.parts.size(); ++i) {
    const SystemDescription &part = system.parts[i];
    total += part.nodes * part.devicesPerNode;
    int64_t partNodes = nodes ? std::min(nodesLeft, part.nodes) : part.nodes;
    int64_t partDevices = devices ? std::min(devicesLeft, partNodes * part.devicesPerNode) : 0;
    if (!partNodes || (devices && !partDevices))
      continue;
    Result<Topology> resolved = resolve(part, partNodes, partDevices);
    if (!resolved)
      return resolved.error();
    nodesLeft -= partNodes;
    devicesLeft -= partDevices;
    whole.parts.push_back(std::move(*resolved));
    indices.push_back(i);
  }
  if (nodesLeft > 0)
    return UserError("'" + system.name + "' has " + plural(system.nodes, "node") + ", but " +
                         std::to_string(nodes) + " are asked for",
                     "nearest feasible: --nodes " + std::to_string(system.nodes) +
                         ", or more 'nodes' in a [[part]] of the file");
  if (devicesLeft > 0)
    return UserError("'" + system.name + "' has " + plural(total, "device") + " in " +
                         plural(nodes ? nodes : system.nodes, "node") + ", but " +
                         std::to_string(devices) + " are asked for",
                     "nearest feasible: --devices " + std::to_string(devices - devicesLeft));
  if (whole.parts.size() == 1)
    return whole.parts.front();
  for (size_t a = 0; a < indices.size(); ++a)
    for (size_t b = a + 1; b < indices.size(); ++b)
      whole.partLinks.push_back(
          {a, b, linkOf(system, system.parts[indices[a]].name, system.parts[indices[b]].name)});
  summarizeParts(whole);
  return whole;
}

Result<Topology> resolve(const SystemDescription &system, int64_t nodes, int64_t devices) {
  if (nodes < 0 || devices < 0)
    return UserError(
        (nodes < 0 ? "--nodes " + std::to_string(nodes) : "--devices " + std::to_string(devices)) +
        " is negative");
  if (!system.parts.empty())
    return resolveParts(system, nodes, devices);
  if (!nodes)
    nodes = system.nodes;
  if (nodes > maxDevices / system.devicesPerNode || devices > maxDevices)
    return UserError("'" + system.name + "' with " + plural(nodes, "node") +
                         (devices ? " and --devices " + std::to_string(devices) : "") +
                         " is larger than the limit of " + std::to_string(maxDevices) + " devices",
                     "nearest feasible: --nodes " +
                         std::to_string(maxDevices / system.devicesPerNode));
  Result<Topology> topology = system.device.deviceClass == DeviceClass::Cpu
                                  ? resolveCpu(system, nodes, devices)
                                  : resolveGpu(system, nodes, devices);
  if (topology)
    addGroups(system, *topology);
  return topology;
}

} // namespace dtc
