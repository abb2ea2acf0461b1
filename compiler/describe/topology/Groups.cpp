// Groups devices with equal figures.
#include "compiler/describe/topology/Groups.h"

#include "compiler/describe/topology/Description.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

namespace dtc {
namespace {

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

} // namespace dtc
