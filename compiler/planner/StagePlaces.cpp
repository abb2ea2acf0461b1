// Which devices each pipeline stage has.
#include "compiler/planner/StagePlaces.h"

#include "compiler/planner/StepEstimate.h"

#include <map>

namespace dtc {

std::vector<int64_t> ranksOfStage(const Decisions &d, int64_t stage) {
  int64_t stride = groupsOf(d).pp.front().stride;
  int64_t coordinate = d.reversedStages ? d.pp - 1 - stage : stage;
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < d.devices(); ++rank)
    if (rank / stride % d.pp == coordinate)
      ranks.push_back(rank);
  return ranks;
}

StagePlaces placeStages(const Decisions &d, const Topology &topology) {
  StagePlaces places;
  if (topology.isUniform() || d.pp == 1)
    return places;
  int64_t size = d.devices() / d.pp;
  // Stages within one group of alike devices, at the same place in its nodes, are alike.
  std::map<std::pair<size_t, int64_t>, size_t> known;
  std::vector<std::vector<int64_t>> ranks;
  for (int64_t stage = 0; stage < d.pp; ++stage) {
    ranks.push_back(ranksOfStage(d, stage));
    int64_t first = ranks.back().front();
    std::pair<size_t, int64_t> key{topology.groups.size(), first}; // across groups
    for (size_t group = 0; group < topology.groups.size(); ++group) {
      const DeviceGroup &each = topology.groups[group];
      int64_t offset = first - each.firstDevice;
      if (offset >= 0 && offset + size <= each.numDevices)
        key = {group, offset % each.devicesPerNode};
    }
    auto [it, isNew] = known.try_emplace(key, places.kinds.size());
    if (isNew)
      places.kinds.push_back(topology.slice(first, size));
    places.kindOfStage.push_back(it->second);
  }
  for (int64_t stage = 0; stage + 1 < d.pp; ++stage) {
    Path path = pathBetween(ranks[static_cast<size_t>(stage)],
                            ranks[static_cast<size_t>(stage) + 1], topology);
    path.bandwidth /= static_cast<double>(size);
    places.boundaries.push_back(path);
  }
  return places;
}

} // namespace dtc
