// Decides how many devices of a system are used, and how they divide over its levels.
#include "compiler/topology/Description.h"

#include <algorithm>

namespace dtc {
namespace {

constexpr int64_t maxDevices = int64_t(1) << 20;

// The group size of each level for `devices` devices, or nothing where they do not divide. A level
// is filled before the next one is used, so 12 devices of nodes of 8 do not divide and 16 are {8,
// 2}.
std::optional<std::vector<int64_t>> divide(llvm::ArrayRef<LinkLevel> levels, int64_t devices) {
  std::vector<int64_t> sizes;
  for (const LinkLevel &level : levels) {
    int64_t size = level.groupSize ? std::min(level.groupSize, devices) : devices;
    if (devices % size != 0)
      return std::nullopt;
    sizes.push_back(size);
    devices /= size;
  }
  return devices == 1 ? std::optional(sizes) : std::nullopt;
}

// "8 or 16": the nearest counts below and above that divide, `limit` at most.
std::string nearestFeasible(llvm::ArrayRef<LinkLevel> levels, int64_t devices, int64_t limit) {
  std::string text;
  for (int64_t below = std::min(devices - 1, limit); below > 0 && text.empty(); --below)
    if (divide(levels, below))
      text = std::to_string(below);
  for (int64_t above = devices + 1; above <= limit; ++above)
    if (divide(levels, above))
      return (text.empty() ? "" : text + " or ") + std::to_string(above);
  return text;
}

// Devices that the levels can join, `maxDevices` at most.
int64_t capacityOf(llvm::ArrayRef<LinkLevel> levels) {
  int64_t capacity = 1;
  for (const LinkLevel &level : levels)
    capacity = level.groupSize ? std::min(maxDevices, capacity * level.groupSize) : maxDevices;
  return capacity;
}

std::string plural(int64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

Topology assemble(const SystemDescription &system, std::vector<LinkLevel> levels, int64_t nodes,
                  int64_t devicesPerNode) {
  Topology topology;
  topology.name = system.name;
  topology.description = system.description;
  topology.device = system.device;
  topology.nodes = nodes;
  topology.devicesPerNode = devicesPerNode;
  for (LinkLevel &level : levels)
    if (level.groupSize > 1)
      topology.levels.push_back(std::move(level));
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
  std::optional<std::vector<int64_t>> sizes = divide(levels, devices);
  if (!sizes)
    return UserError(plural(devices, "device") + " do not fill the levels of '" + system.name +
                         "' evenly",
                     "nearest feasible: --devices " + nearestFeasible(levels, devices, maxDevices));
  for (size_t i = 0; i < levels.size(); ++i)
    levels[i].groupSize = (*sizes)[i];
  Topology topology = assemble(system, std::move(levels), nodes, shared);
  DeviceKind &device = topology.device;
  device.memoryBytes = std::max<int64_t>(1, device.memoryBytes / shared);
  device.memoryBandwidth /= static_cast<double>(shared);
  device.computeUnits = std::max<int64_t>(1, device.computeUnits / shared);
  for (double &peak : device.peakFlops)
    peak /= static_cast<double>(shared);
  return topology;
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
  std::optional<std::vector<int64_t>> sizes = divide(system.levels, devices);
  if (!sizes) {
    std::string nearest = nearestFeasible(system.levels, devices, total);
    return UserError(plural(devices, "device") + " do not fill the levels of '" + system.name +
                         "' evenly: more than one group of a level is used in whole groups only",
                     nearest.empty() ? "" : "nearest feasible: --devices " + nearest);
  }
  std::vector<LinkLevel> levels = system.levels;
  for (size_t i = 0; i < levels.size(); ++i)
    levels[i].groupSize = (*sizes)[i];
  int64_t usedNodes = std::max<int64_t>(1, devices / system.devicesPerNode);
  return assemble(system, std::move(levels), usedNodes, devices / usedNodes);
}

} // namespace

Result<Topology> resolve(const SystemDescription &system, int64_t nodes, int64_t devices) {
  if (nodes < 0 || devices < 0)
    return UserError(
        (nodes < 0 ? "--nodes " + std::to_string(nodes) : "--devices " + std::to_string(devices)) +
        " is negative");
  if (!nodes)
    nodes = system.nodes;
  if (nodes > maxDevices / system.devicesPerNode || devices > maxDevices)
    return UserError("'" + system.name + "' with " + plural(nodes, "node") + " and --devices " +
                         std::to_string(devices) + " is larger than the limit of " +
                         std::to_string(maxDevices) + " devices",
                     "nearest feasible: --nodes " +
                         std::to_string(maxDevices / system.devicesPerNode));
  if (system.device.deviceClass == DeviceClass::Cpu)
    return resolveCpu(system, nodes, devices);
  return resolveGpu(system, nodes, devices);
}

} // namespace dtc
