// Seconds that activations and their gradients take from stage to stage.
#include "compiler/price/estimate/StageTransfers.h"

#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/UsedLevels.h"
#include "compiler/price/estimate/ModelCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

std::vector<double> transfersAlong(const RankGroup &group, double bytes, const Topology &topology) {
  if (group.size() != 1 || !topology.isUniform())
    return {};
  // The levels below connect `within` consecutive ranks of the group; one boundary in `within`
  // crosses to the next level.
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

// Returns true if a rank sends only its part of an activation. Without sequence parallelism every
// rank of a tensor group holds the same activation; each sends its part and the receivers gather it
// (Narayanan et al. 2021, section 4.1).
static bool sendsParts(const Decisions &d) { return !d.sequenceParallel && d.tp > 1; }

static double sentBytes(const ModelCost &cost, const Decisions &d) {
  return cost.blocks.front().input / (sendsParts(d) ? static_cast<double>(d.tp) : 1);
}

static double gatherSeconds(const ModelCost &cost, const Decisions &d, const Topology &topology) {
  return sendsParts(d) ? collectiveSeconds(CollectiveKind::AllGather, cost.blocks.front().input,
                                           cost.groups.tp, topology)
                       : 0;
}

// Adds transfers between heterogeneous devices. All stages have as many devices, and so a rank of
// each as large a part of a micro-batch. Activations are gathered behind a boundary, and their
// gradients before it: the slower one counts.
static void addTransfersOfPlaces(ModelCost &cost, const Decisions &d, double sent) {
  auto gatherOn = [&](size_t stage) {
    size_t kind = cost.devices.kindOfStage[stage];
    return gatherSeconds(cost.kinds[kind], d.onPart(cost.devices.whereOfKind[kind].first),
                         cost.devices.kinds[kind]);
  };
  for (auto [stage, path] : llvm::enumerate(cost.devices.boundaries)) {
    double gather = std::max(gatherOn(stage), gatherOn(stage + 1));
    cost.transfers.push_back(path.latency + sent / path.bandwidth + gather);
    cost.transferSeconds = std::max(cost.transferSeconds, cost.transfers.back());
  }
}

void addTransfers(ModelCost &cost, const Decisions &d, const Topology &topology) {
  if (d.pp == 1 || cost.blocks.empty())
    return;
  double sent = sentBytes(cost, d);
  if (!cost.devices.empty()) {
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
