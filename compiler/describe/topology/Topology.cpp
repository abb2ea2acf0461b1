#include "compiler/describe/topology/Topology.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

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

namespace {

// Returns a conservative device for a system with parts: the worst of each figure of their devices.
DeviceKind weakest(llvm::ArrayRef<Topology> parts) {
  DeviceKind device = parts.front().device;
  device.calibration = nullptr; // belongs to the first part only
  for (const Topology &part : parts.drop_front()) {
    device.memoryBytes = std::min(device.memoryBytes, part.device.memoryBytes);
    device.memoryBandwidth = std::min(device.memoryBandwidth, part.device.memoryBandwidth);
    device.graphLatency = std::max(device.replayLatency(), part.device.replayLatency());
    device.launchLatency = std::max(device.launchLatency, part.device.launchLatency);
    device.computeUnits = std::min(device.computeUnits, part.device.computeUnits);
    HostShare &host = device.host;
    const HostShare &other = part.device.host;
    host.memoryBytes = std::min(host.memoryBytes, other.memoryBytes);
    host.memoryBandwidth = std::min(host.memoryBandwidth, other.memoryBandwidth);
    host.linkBandwidth = std::min(host.linkBandwidth, other.linkBandwidth);
    if (part.device.peak(ComputeType::F32) < device.peak(ComputeType::F32))
      device.name = part.device.name; // takes the constants of the slower device
    for (size_t type = 0; type < numComputeTypes; ++type)
      device.peakFlops[type] = std::min(device.peakFlops[type], part.device.peakFlops[type]);
  }
  return device;
}

// Returns one level that joins all devices and is nowhere quicker than the real links.
LinkLevel slowestLink(const Topology &whole) {
  LinkLevel slowest;
  auto take = [&](const LinkLevel &level, double bandwidth) {
    double latency = std::max(slowest.latency, level.latency);
    if (slowest.bandwidth == 0 || bandwidth < slowest.bandwidth) {
      slowest.kind = level.kind;
      slowest.bandwidth = bandwidth;
    }
    slowest.latency = latency;
  };
  for (const Topology &part : whole.parts)
    for (const LinkLevel &level : part.levels)
      take(level, level.effectiveBandwidth());
  for (const PartLink &link : whole.partLinks) {
    int64_t sharing =
        std::min(whole.parts[link.first].numDevices(), whole.parts[link.second].numDevices());
    take(link.link, link.link.effectiveBandwidth() / static_cast<double>(sharing));
  }
  slowest.name = "any";
  slowest.groupSize = whole.numDevices();
  return slowest;
}

// Returns how many ranks stay together if `count` ranks from `first` are divided into units of
// `unit` consecutive ranks, wherever the cut begins.
int64_t together(int64_t first, int64_t count, int64_t unit) {
  bool isInOne = first / unit == (first + count - 1) / unit;
  return isInOne ? count : std::gcd(std::gcd(first, count), unit);
}

// A torus that is cut in the middle of its axes becomes a line.
void cutLevel(LinkLevel &level, int64_t count) {
  if (fitLevel(level, count))
    return;
  level.dims = {count};
  level.wrapFrom = 0;
  level.groupSize = count;
}

// Returns the levels of `whole` that still join something, from `levels`, which are its own or a
// group's.
std::vector<LinkLevel> cutLevels(const Topology &whole, llvm::ArrayRef<LinkLevel> levels,
                                 int64_t first, int64_t count) {
  std::vector<LinkLevel> cut;
  int64_t inside = 1;
  for (size_t i = 0; i < levels.size(); ++i) {
    int64_t within = together(first, count, whole.devicesWithin(i));
    if (within > inside) {
      cut.push_back(levels[i]);
      cutLevel(cut.back(), within / inside);
    }
    inside = within;
  }
  return cut;
}

Topology sliceHomogeneous(const Topology &whole, int64_t first, int64_t count) {
  Topology cut;
  cut.name = whole.name;
  cut.description = whole.description;
  cut.fingerprint = whole.fingerprint;
  cut.device = whole.device;
  cut.devicesPerNode = together(first, count, whole.devicesPerNode);
  cut.nodes = count / cut.devicesPerNode;
  for (const DeviceGroup &group : whole.groups) {
    int64_t begin = std::max(first, group.firstDevice);
    int64_t end = std::min(first + count, group.firstDevice + group.numDevices);
    if (begin >= end)
      continue;
    DeviceGroup kept = group;
    kept.firstDevice = begin - first;
    kept.numDevices = end - begin;
    kept.devicesPerNode = together(begin, kept.numDevices, group.devicesPerNode);
    kept.nodes = kept.numDevices / kept.devicesPerNode;
    kept.levels = cutLevels(whole, group.levels, first, count);
    if (cut.groups.empty())
      cut.levels = kept.levels;
    else
      takeWorst(cut.levels, kept.levels);
    cut.groups.push_back(std::move(kept));
  }
  if (whole.groups.empty()) // made by hand, without groups
    cut.levels = cutLevels(whole, whole.levels, first, count);
  return cut;
}

} // namespace

void summarizeParts(Topology &whole) {
  whole.nodes = 0;
  whole.devicesPerNode = 1;
  whole.groups.clear();
  for (size_t i = 0; i < whole.parts.size(); ++i) {
    const Topology &part = whole.parts[i];
    whole.nodes += part.nodes;
    whole.devicesPerNode = std::max(whole.devicesPerNode, part.devicesPerNode);
    int64_t first = whole.firstRankOf(i);
    for (DeviceGroup group : part.groups) {
      group.part = i;
      group.firstDevice += first;
      whole.groups.push_back(std::move(group));
    }
  }
  whole.device = weakest(whole.parts);
  whole.levels = {slowestLink(whole)};
}

std::vector<LinkLevel> Topology::levelsOf(llvm::ArrayRef<int64_t> ranks) const {
  assert(parts.empty() && "each part has levels of its own");
  std::vector<LinkLevel> worst;
  for (const DeviceGroup &group : groups) {
    bool has = llvm::any_of(ranks, [&](int64_t rank) {
      return rank >= group.firstDevice && rank < group.firstDevice + group.numDevices;
    });
    if (!has)
      continue;
    if (worst.empty())
      worst = group.levels;
    else
      takeWorst(worst, group.levels);
  }
  return worst.empty() ? levels : worst;
}

Topology Topology::slice(int64_t first, int64_t count) const {
  assert(first >= 0 && count > 0 && first + count <= numDevices() && "ranks of the topology");
  if (parts.empty())
    return sliceHomogeneous(*this, first, count);
  Topology cut;
  cut.name = name;
  cut.description = description;
  cut.fingerprint = fingerprint;
  std::vector<size_t> kept; // indices of the parts that are kept
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t start = firstRankOf(i);
    int64_t begin = std::max(first, start);
    int64_t end = std::min(first + count, start + parts[i].numDevices());
    if (begin >= end)
      continue;
    cut.parts.push_back(sliceHomogeneous(parts[i], begin - start, end - begin));
    kept.push_back(i);
  }
  if (kept.size() == 1)
    return cut.parts.front();
  for (size_t a = 0; a < kept.size(); ++a)
    for (size_t b = a + 1; b < kept.size(); ++b)
      cut.partLinks.push_back({a, b, linkBetween(kept[a], kept[b])->link});
  summarizeParts(cut);
  return cut;
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

} // namespace dtc
