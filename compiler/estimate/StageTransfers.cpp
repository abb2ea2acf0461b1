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

// Returns true if each rank of a tensor group sends a part of the activation, which the receivers
// gather (Narayanan et al. 2021, section 4.1): if all hold the same, i.e. without sequence
// parallelism.
static bool sendsParts(const Decisions &d) { return !d.sequenceParallel && d.tp > 1; }

static double sentBytes(const ModelCost &cost, const Decisions &d) {
  return cost.blocks.front().input / (sendsParts(d) ? static_cast<double>(d.tp) : 1);
}

static double gatherSeconds(const ModelCost &cost, const Decisions &d, const Topology &topology) {
  return sendsParts(d) ? collectiveSeconds(CollectiveKind::AllGather, cost.blocks.front().input,
                                           cost.groups.tp, topology)
                       : 0;
}

// All stages have as many devices, and so a rank of each as large a part of a micro-batch.
// Activations are gathered behind a boundary, and their gradients before it: what takes longer
// counts.
static void addTransfersOfPlaces(ModelCost &cost, const Decisions &d, double sent) {
  auto gatherOn = [&](size_t stage) {
    size_t kind = cost.places.kindOfStage[stage];
    return gatherSeconds(cost.kinds[kind], d.onPart(cost.places.whereOfKind[kind].first),
                         cost.places.kinds[kind]);
  };
  for (auto [stage, path] : llvm::enumerate(cost.places.boundaries)) {
    double gather = std::max(gatherOn(stage), gatherOn(stage + 1));
    cost.transfers.push_back(path.latency + sent / path.bandwidth + gather);
    cost.transferSeconds = std::max(cost.transferSeconds, cost.transfers.back());
  }
}

void addTransfers(ModelCost &cost, const Decisions &d, const Topology &topology) {
  if (d.pp == 1 || cost.blocks.empty())
    return;
  double sent = sentBytes(cost, d);
  if (!cost.places.empty()) {
    addTransfersOfPlaces(cost, d, sent);
    return;
  }
  double gather = gatherSeconds(cost, d, topology);
  cost.transfers = transfersAlong(cost.groups.pp, sent, topology);
  cost.transferSeconds =
      collectiveSeconds(CollectiveKind::SendRecv, sent, cost.groups.pp, topology) + gather;
  for (double &seconds : cost.transfers) {
    seconds += gather;
    cost.transferSeconds = std::max(cost.transferSeconds, seconds);
  }
}

} // namespace dtc
