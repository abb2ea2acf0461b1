// Loads a topology by name or file.
#include "compiler/describe/topology/Topology.h"

#include "compiler/describe/topology/Description.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

namespace dtc {

int64_t Topology::devicesWithin(size_t level) const {
  int64_t devices = 1;
  for (size_t i = 0; i <= level && i < levels.size(); ++i)
    devices *= levels[i].groupSize;
  return devices;
}

int64_t Topology::numDevices() const {
  if (parts.empty())
    return nodes * devicesPerNode;
  int64_t devices = 0;
  for (const Topology &part : parts)
    devices += part.numDevices();
  return devices;
}

// A device computes a type in f32 if it has no faster rate for it.
static double peakOf(const DeviceKind &device, ComputeType type) {
  return device.peak(device.peak(type) > 0 ? type : ComputeType::F32);
}

double Topology::meanPeak(ComputeType type) const {
  if (parts.empty())
    return peakOf(device, type);
  double sum = 0;
  for (const Topology &part : parts)
    sum += peakOf(part.device, type) * static_cast<double>(part.numDevices());
  return sum / static_cast<double>(numDevices());
}

ComputeType computeTypeOf(Precision precision) {
  switch (precision) {
  case Precision::F32:
    return ComputeType::F32;
  case Precision::BF16:
    return ComputeType::BF16;
  case Precision::F16:
    return ComputeType::F16;
  case Precision::FP8:
    return ComputeType::FP8;
  }
  llvm_unreachable("all precisions have a compute type");
}

Precision Topology::usualPrecision() const {
  auto haveAll = [&](ComputeType type) {
    auto has = [&](const DeviceKind &kind) {
      return kind.deviceClass == DeviceClass::Gpu && kind.peak(type) > 0;
    };
    return parts.empty()
               ? has(device)
               : llvm::all_of(parts, [&](const Topology &part) { return has(part.device); });
  };
  for (Precision precision : {Precision::BF16, Precision::F16})
    if (haveAll(computeTypeOf(precision)))
      return precision;
  return Precision::F32;
}

size_t Topology::partOf(int64_t rank) const {
  for (size_t part = 0; part < parts.size(); ++part) {
    if (rank < parts[part].numDevices())
      return part;
    rank -= parts[part].numDevices();
  }
  assert(parts.empty() && "the rank is one of the topology");
  return 0;
}

int64_t Topology::firstRankOf(size_t part) const {
  int64_t first = 0;
  for (size_t i = 0; i < part && i < parts.size(); ++i)
    first += parts[i].numDevices();
  return first;
}

const DeviceKind &Topology::deviceOf(int64_t rank) const {
  return parts.empty() ? device : parts[partOf(rank)].device;
}

const PartLink *Topology::linkBetween(size_t part, size_t other) const {
  for (const PartLink &link : partLinks)
    if ((link.first == part && link.second == other) ||
        (link.first == other && link.second == part))
      return &link;
  return nullptr;
}

// Returns the innermost level that joins two different ranks of a homogeneous topology.
static size_t joiningLevel(int64_t a, int64_t b, const Topology &topology) {
  for (size_t level = 0; level < topology.levels.size(); ++level) {
    int64_t within = topology.devicesWithin(level);
    if (a / within == b / within)
      return level;
  }
  assert(false && "the outermost level joins all ranks");
  return 0;
}

// Returns the bandwidth of one device to another over level `index`. `level` has the figures
// between the two.
static double pairBandwidth(const LinkLevel &level, const Topology &topology, size_t index) {
  double bandwidth = level.effectiveBandwidth(), others = static_cast<double>(level.groupSize - 1);
  switch (level.shape) {
  case LinkShape::HostBridge:
    return std::min(bandwidth,
                    level.sharedBandwidth / static_cast<double>(topology.devicesWithin(index)));
  case LinkShape::Direct:
    return level.subsetBandwidth.empty() ? bandwidth / others : level.subsetBandwidth.front();
  case LinkShape::Dragonfly:
    return bandwidth * std::max(1 / others, 0.5);
  case LinkShape::Switch:
  case LinkShape::Torus:
  case LinkShape::Rail:
    return bandwidth;
  }
  return bandwidth;
}

// Returns the bytes/s at which a device of a part reaches the outside of its node. There is no
// limit if the part is one node, whose adapters are not described.
static double bandwidthOut(const Topology &part) {
  return part.nodes > 1 ? part.levels.back().effectiveBandwidth()
                        : std::numeric_limits<double>::infinity();
}

Path pathBetween(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                 const Topology &topology) {
  Path path;
  if (from.empty() || to.empty())
    return path;
  // Compares the links between parts with the bandwidths of senders and receivers.
  double crossing = 0, sent = 0, received = 0;
  for (size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
    int64_t a = from[i % from.size()], b = to[i % to.size()];
    size_t partA = topology.partOf(a), partB = topology.partOf(b);
    if (partA != partB) {
      const LinkLevel &link = topology.linkBetween(partA, partB)->link;
      crossing = std::max(crossing, link.effectiveBandwidth());
      path.latency = std::max(path.latency, link.latency);
      sent += i < from.size() ? bandwidthOut(topology.parts[partA]) : 0;
      received += i < to.size() ? bandwidthOut(topology.parts[partB]) : 0;
      continue;
    }
    const Topology &part = topology.parts.empty() ? topology : topology.parts[partA];
    int64_t first = topology.firstRankOf(partA);
    if (a == b || i >= from.size()) // nothing to send, or a sender that is already counted
      continue;
    size_t index = joiningLevel(a - first, b - first, part);
    const LinkLevel level =
        part.isUniform() ? part.levels[index] : part.levelsOf({a - first, b - first})[index];
    path.bandwidth += pairBandwidth(level, part, index);
    path.latency = std::max(path.latency, level.latency);
  }
  path.bandwidth += std::min({crossing, sent, received});
  return path;
}

Result<Topology> parseTopology(llvm::StringRef text, const std::string &path, int64_t nodes,
                               int64_t devices) {
  Result<SystemDescription> system = parseDescription(text, path);
  if (!system)
    return system.error();
  Result<Topology> topology = resolve(*system, nodes, devices);
  if (!topology)
    return topology;
  // Includes the device's figures, because those of 'cpu' are the machine's.
  const DeviceKind &device = topology->device;
  topology->fingerprint = llvm::formatv("{0:x-} {1} {2} {3}", llvm::xxh3_64bits(text), device.name,
                                        device.memoryBytes, device.computeUnits);
  return topology;
}

std::vector<std::string> catalogueNames() { return namesOf(topologyCatalogue()); }

llvm::StringRef catalogueText(llvm::StringRef name) { return textOf(topologyCatalogue(), name); }

Result<Topology> loadTopology(const std::string &nameOrFile, int64_t nodes, int64_t devices) {
  Result<NamedText> file = openNamed(topologyCatalogue(), nameOrFile, "a topology");
  if (!file)
    return file.error();
  return parseTopology(file->text, file->path, nodes, devices);
}

} // namespace dtc
