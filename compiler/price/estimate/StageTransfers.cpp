// Seconds that activations and their gradients take from stage to stage.
#include "compiler/price/estimate/StageTransfers.h"

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/price/cost/UsedLevels.h"

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

static double sentBytes(double bytes, const Decisions &d) {
  return bytes / (sendsParts(d) ? static_cast<double>(d.tp) : 1);
}

static double gatherSeconds(double bytes, const RankGroup &tp, const Decisions &d,
                            const Topology &topology) {
  return sendsParts(d) ? collectiveSeconds(CollectiveKind::AllGather, bytes, tp, topology) : 0;
}

// All stages have as many devices, and so a rank of each as large a part of a micro-batch.
// Activations are gathered behind a boundary, and their gradients before it: the slower one counts.
StageTransfers transfersOver(double bytes, const StageDevices &devices,
                             llvm::ArrayRef<KindOfActivation> kinds, const Decisions &d) {
  StageTransfers transfers;
  double sent = sentBytes(bytes, d);
  auto gatherOn = [&](size_t stage) {
    size_t kind = devices.kindOfStage[stage];
    return gatherSeconds(kinds[kind].bytes, kinds[kind].tp,
                         d.onPart(devices.whereOfKind[kind].first), devices.kinds[kind]);
  };
  for (auto [stage, path] : llvm::enumerate(devices.boundaries)) {
    double gather = std::max(gatherOn(stage), gatherOn(stage + 1));
    transfers.each.push_back(path.latency + sent / path.bandwidth + gather);
    transfers.slowest = std::max(transfers.slowest, transfers.each.back());
  }
  return transfers;
}

StageTransfers transfersBetween(double bytes, const AxisGroups &groups, const Decisions &d,
                                const Topology &topology) {
  if (d.pp == 1)
    return {};
  double sent = sentBytes(bytes, d), gather = gatherSeconds(bytes, groups.tp, d, topology);
  StageTransfers transfers;
  transfers.each = transfersAlong(groups.pp, sent, topology);
  transfers.slowest =
      collectiveSeconds(CollectiveKind::SendRecv, sent, groups.pp, topology) + gather;
  for (double &seconds : transfers.each) {
    seconds += gather;
    transfers.slowest = std::max(transfers.slowest, seconds);
  }
  return transfers;
}

} // namespace dtc
