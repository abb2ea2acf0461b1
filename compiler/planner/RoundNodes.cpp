// Parts of a system that are easier to divide than all of it.
#include "compiler/planner/RoundNodes.h"

namespace dtc {

bool isRound(int64_t count) {
  for (int64_t prime : {2, 3, 5, 7})
    while (count % prime == 0)
      count /= prime;
  return count == 1;
}

std::vector<int64_t> roundNodeCounts(const Topology &topology, const Pins &pins, size_t most) {
  std::vector<int64_t> counts;
  if (isRound(topology.nodes) || !topology.isUniform() || pins.dp || pins.tp || pins.pp || pins.cp)
    return counts;
  for (int64_t nodes = topology.nodes - 1; nodes > 0 && counts.size() < most; --nodes)
    if (isRound(nodes))
      counts.push_back(nodes);
  return counts;
}

} // namespace dtc
