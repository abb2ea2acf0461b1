// Seconds that activations and their gradients take from stage to stage.
#include "compiler/estimate/StageTransfers.h"

#include "compiler/estimate/ModelCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

std::vector<double> transfersAlong(const RankGroup &group, double bytes, const Topology &topology) {
  if (group.size() != 1 || !topology.isUniform())
    return {};
  // `within` ranks of the group are joined up to each level; every within-th boundary leaves them.
  std::vector<std::pair<int64_t, double>> reached; // ranks within the level below, seconds
  int64_t within = 1;
  for (int64_t ranks : ranksPerLevel(group, topology)) {
    if (ranks == 1)
      continue;
    RankGroup part{{within * ranks, group.front().stride}};
    reached.emplace_back(within,
                         collectiveSeconds(CollectiveKind::SendRecv, bytes, part, topology));
    within *= ranks;
  }
  if (reached.size() < 2)
    return {};
  std::vector<double> seconds;
  for (int64_t next = 1; next < group.front().size; ++next) {
    double slowest = 0;
    for (auto [below, each] : reached)
      if (next % below == 0)
        slowest = each;
    seconds.push_back(slowest);
  }
  return seconds;
}

void addTransfers(ModelCost &cost, const Decisions &d, const Topology &topology) {
  if (d.pp == 1 || cost.blocks.empty())
    return;
  // Without sequence parallelism every rank of a tensor group holds the same activation; each
  // sends its part and the receivers gather it (Narayanan et al. 2021, section 4.1).
  double bytes = cost.blocks.front().input, sent = bytes, gather = 0;
  if (!d.sequenceParallel && d.tp > 1) {
    sent = bytes / static_cast<double>(d.tp);
    gather = collectiveSeconds(CollectiveKind::AllGather, bytes, cost.groups.tp, topology);
  }
  if (cost.places.empty()) {
    cost.transfers = transfersAlong(cost.groups.pp, sent, topology);
    cost.transferSeconds =
        collectiveSeconds(CollectiveKind::SendRecv, sent, cost.groups.pp, topology);
  }
  for (const Path &path : cost.places.boundaries)
    cost.transfers.push_back(path.latency + sent / path.bandwidth);
  for (double seconds : cost.transfers)
    cost.transferSeconds = std::max(cost.transferSeconds, seconds);
  cost.transferSeconds += gather;
  for (double &seconds : cost.transfers)
    seconds += gather;
}

} // namespace dtc
