// The devices of each pipeline stage.
#include "compiler/price/estimate/StageDevices.h"

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/estimate/AxisGroups.h"
#include "compiler/price/estimate/PartOrders.h"

#include <map>
#include <numeric>

namespace dtc {

static std::vector<int64_t> ranksFrom(int64_t first, int64_t count) {
  std::vector<int64_t> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

std::vector<int64_t> ranksOfStage(const Decisions &d, const Topology &topology, int64_t stage) {
  if (!topology.isUniform() && d.pp > 1) {
    int64_t size = d.devices() / d.pp;
    std::vector<StageStarts> orders = partOrders(topology.groups, size);
    return ranksFrom(orders[static_cast<size_t>(d.partOrder)][static_cast<size_t>(stage)], size);
  }
  int64_t stride = groupsOf(d).pp.front().stride;
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < d.devices(); ++rank)
    if (rank / stride % d.pp == stage)
      ranks.push_back(rank);
  return ranks;
}

StageDevices devicesOfStages(const Decisions &d, const Topology &topology) {
  StageDevices devices;
  if (topology.isUniform() || d.pp == 1)
    return devices;
  int64_t size = d.devices() / d.pp;
  // Stages within one device group, at the same offset in its nodes, are equal.
  std::map<std::pair<size_t, int64_t>, size_t> known;
  const StageStarts starts = partOrders(topology.groups, size)[static_cast<size_t>(d.partOrder)];
  for (int64_t first : starts) {
    std::pair<size_t, int64_t> key{topology.groups.size(), first}; // across groups
    for (size_t group = 0; group < topology.groups.size(); ++group) {
      const DeviceGroup &each = topology.groups[group];
      int64_t offset = first - each.firstDevice;
      if (offset >= 0 && offset + size <= each.numDevices)
        key = {group, offset % each.devicesPerNode};
    }
    auto [it, isNew] = known.try_emplace(key, devices.kinds.size());
    if (isNew) {
      devices.kinds.push_back(topology.slice(first, size));
      devices.whereOfKind.push_back(key);
    }
    devices.kindOfStage.push_back(it->second);
  }
  for (size_t stage = 0; stage + 1 < starts.size(); ++stage) {
    Path path =
        pathBetween(ranksFrom(starts[stage], size), ranksFrom(starts[stage + 1], size), topology);
    path.bandwidth /= static_cast<double>(size);
    devices.boundaries.push_back(path);
  }
  return devices;
}

} // namespace dtc
