// Ranks of data parallelism among which ZeRO shards.
#include "compiler/planner/ZeroGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {
namespace {

// Of what dp and cp copy, the ranks that lie within the first `devices` devices; 0 where other
// blocks of as many devices have other numbers of them.
int64_t replicasWithin(const Decisions &d, int64_t devices) {
  int64_t replicas = 1;
  for (char axis : d.order) {
    int64_t size = d.sizeOf(axis), part = std::min(size, devices);
    if (devices % part != 0 || size % part != 0)
      return 0;
    devices /= part;
    if (axis == 'c' || axis == 'd')
      replicas *= part;
  }
  return replicas;
}

// Whether the innermost `ranks` of them are whole runs along the axes, so that all such groups are alike.
bool isRunOfReplicas(const Decisions &d, int64_t ranks) {
  for (char axis : d.order) {
    int64_t size = axis == 'c' || axis == 'd' ? d.sizeOf(axis) : 1, part = std::min(size, ranks);
    if (ranks % part != 0 || size % part != 0)
      return false;
    ranks /= part;
  }
  return true;
}

} // namespace

bool mayShare(const Decisions &d, int64_t ranks) {
  return ranks > 1 && d.dp % ranks == 0 && d.ranksOfExperts(ranks) % d.ep == 0;
}

std::vector<int64_t> linkBoundaries(const Topology &topology) {
  std::vector<int64_t> boundaries;
  // Of unlike parts the nodes, where they are alike in size: `levels` are one for all.
  bool isAlike = llvm::all_of(topology.groups, [&](const DeviceGroup &group) {
    return group.devicesPerNode == topology.devicesPerNode;
  });
  if (!topology.isHomogeneous() && isAlike && topology.nodes > 1)
    boundaries.push_back(topology.devicesPerNode);
  for (size_t level = 0; level + 1 < topology.levels.size(); ++level)
    boundaries.push_back(topology.devicesWithin(level));
  return boundaries;
}

std::vector<ZeroGroup> zeroGroupsOf(const Decisions &mesh, const SpaceLimits &limits) {
  std::vector<ZeroGroup> groups;
  auto add = [&](int64_t ranks, int64_t inner) {
    if (ranks < mesh.dp && mayShare(mesh, ranks) && isRunOfReplicas(mesh, ranks * mesh.cp))
      groups.push_back({ranks, inner});
  };
  int64_t inner = 0; // no boundary yet
  auto addBetween = [&](int64_t outer) {
    for (int64_t ranks = 2 * inner; inner > 0 && ranks < outer; ranks *= 2)
      add(ranks, ranks / 2);
  };
  for (int64_t boundary : limits.boundaries) {
    int64_t replicas = replicasWithin(mesh, boundary);
    int64_t ranks = std::max<int64_t>(1, replicas / mesh.cp); // 1 where cp goes beyond the boundary
    bool isAligned = replicas > 0 && std::max(replicas, mesh.cp) % std::min(replicas, mesh.cp) == 0;
    if (!isAligned || ranks <= inner)
      continue;
    addBetween(ranks);
    add(ranks, 0);
    inner = ranks;
  }
  addBetween(mesh.dp);
  return groups;
}

bool mayHaveGroups(const Decisions &d, const SpaceLimits &limits, const Pins &pins) {
  bool isChoice = d.zero == 1 || (d.zero > 1 && d.pp == 1);
  return isChoice && d.dp > 2 && !d.hasUnevenTensor() && !pins.zeroGroup && !d.offloadOptimizer &&
         !limits.boundaries.empty() && (!limits.space || limits.space->zeroGroups != 0);
}

bool isGroupChoice(const ModelCost &model, const Decisions &decisions, const ZeroGroup &group,
                   const EstimateRequest &request) {
  constexpr double most = 0.5;
  if (group.inner == 0)
    return true;
  Decisions smaller = decisions;
  smaller.zeroGroup = group.inner;
  if (group.inner == 1)
    smaller.zero = smaller.zeroGroup = 0;
  return leastMemoryShare(model, decisions, request) <= most &&
         leastMemoryShare(model, smaller, request) > most;
}

std::vector<Decisions> enumerateGroups(const ModelCost &model, const Decisions &overAll,
                                       const SpaceLimits &limits, const Pins &pins,
                                       const EstimateRequest &request) {
  std::vector<Decisions> all;
  if (!mayHaveGroups(overAll, limits, pins))
    return all;
  for (const ZeroGroup &group : zeroGroupsOf(overAll, limits)) {
    Decisions d = overAll;
    d.zeroGroup = group.ranks;
    if (isAllowed(d, limits) && isGroupChoice(model, d, group, request))
      all.push_back(d);
  }
  return all;
}

} // namespace dtc
