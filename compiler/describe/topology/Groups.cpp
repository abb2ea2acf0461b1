// Groups devices with equal figures, and cuts systems out of a larger one.
#include "compiler/describe/topology/Description.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace dtc {
namespace {

void takeWorst(LinkLevel &level, const LinkLevel &other) {
  level.bandwidth = std::min(level.bandwidth, other.bandwidth);
  level.latency = std::max(level.latency, other.latency);
  level.sharedBandwidth = std::min(level.sharedBandwidth, other.sharedBandwidth);
  for (size_t i = 0; i < level.subsetBandwidth.size(); ++i)
    level.subsetBandwidth[i] = std::min(level.subsetBandwidth[i], other.subsetBandwidth[i]);
}

// Lowers all levels of one system to the worst figures, in place.
void takeWorst(std::vector<LinkLevel> &levels, llvm::ArrayRef<LinkLevel> others) {
  for (size_t i = 0; i < levels.size(); ++i)
    takeWorst(levels[i], others[i]);
}

// Gives a level the figures of a slow link. Bandwidths that its shape derives become smaller in
// proportion to the two figures in the file.
void slowDown(LinkLevel &level, const LinkLevel &described, const SlowLinkDescription &slow) {
  double share = slow.bandwidth / described.bandwidth;
  level.bandwidth *= share;
  level.sharedBandwidth *= share;
  for (double &bandwidth : level.subsetBandwidth)
    bandwidth *= share;
  level.latency = std::max(level.latency, slow.latency);
}

// Returns the levels of one node.
std::vector<LinkLevel> levelsOfNode(const SystemDescription &system, const Topology &topology,
                                    int64_t node) {
  std::vector<LinkLevel> levels = topology.levels;
  for (const SlowLinkDescription &slow : system.slowLinks) {
    if (!llvm::is_contained(slow.nodes, node))
      continue;
    const LinkLevel *described = nullptr;
    for (const LinkLevel &each : system.levels)
      if (each.name == slow.level)
        described = &each;
    for (LinkLevel &level : levels)
      if (level.name == slow.level)
        slowDown(level, *described, slow);
  }
  return levels;
}

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

Topology sliceAlike(const Topology &whole, int64_t first, int64_t count) {
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

void addGroups(const SystemDescription &system, Topology &topology) {
  int64_t perNode = topology.devicesPerNode;
  // The first nodes of ranges in which all links are equal.
  std::set<int64_t> starts{0};
  for (const SlowLinkDescription &slow : system.slowLinks)
    for (int64_t node : slow.nodes)
      for (int64_t at : {node, node + 1})
        if (at < topology.nodes)
          starts.insert(at);
  std::vector<LinkLevel> worst = topology.levels;
  for (auto at = starts.begin(); at != starts.end(); ++at) {
    int64_t end = std::next(at) == starts.end() ? topology.nodes : *std::next(at);
    DeviceGroup group;
    group.device = topology.device;
    group.firstDevice = *at * perNode;
    group.nodes = end - *at;
    group.devicesPerNode = perNode;
    group.numDevices = group.nodes * perNode;
    group.levels = levelsOfNode(system, topology, *at);
    takeWorst(worst, group.levels);
    bool sameAsLast = !topology.groups.empty() &&
                      llvm::equal(topology.groups.back().levels, group.levels,
                                  [](const LinkLevel &a, const LinkLevel &b) {
                                    return a.bandwidth == b.bandwidth && a.latency == b.latency;
                                  });
    if (sameAsLast) {
      topology.groups.back().nodes += group.nodes;
      topology.groups.back().numDevices += group.numDevices;
    } else {
      topology.groups.push_back(std::move(group));
    }
  }
  topology.levels = std::move(worst);
}

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
    return sliceAlike(*this, first, count);
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
    cut.parts.push_back(sliceAlike(parts[i], begin - start, end - begin));
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

} // namespace dtc
