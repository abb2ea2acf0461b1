// Rings, trees, pairs and the switch's reduction of one homogeneous topology.
#include "compiler/price/cost/CollectiveModel.h"

#include "compiler/price/cost/NcclCost.h"
#include "compiler/price/cost/UsedLevels.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace dtc {
namespace {

double sizeOf(llvm::ArrayRef<UsedLevel> levels) {
  double size = 1;
  for (const UsedLevel &level : levels)
    size *= level.ranks;
  return size;
}

// One lap of a ring over all ranks; at a level, a hop between each two neighbouring groups.
double lapLatency(llvm::ArrayRef<UsedLevel> levels) {
  double seconds = 0, size = sizeOf(levels);
  for (const UsedLevel &level : levels)
    seconds += level.latency * level.lapHops * size / (level.inside * level.ranks);
  return seconds;
}

// Reduce-scatter, or all-gather.
double ringLap(llvm::ArrayRef<UsedLevel> levels, double bytes) {
  double size = sizeOf(levels);
  return lapLatency(levels) + bytes * (size - 1) / size / ringBandwidth(levels);
}

// Reduce-scatter level by level from the inside out, or all-gather from the outside in: at each
// level a rank holds what the levels inside left to it.
double levelByLevelLap(llvm::ArrayRef<UsedLevel> levels, double bytes) {
  double seconds = 0;
  for (const UsedLevel &level : levels)
    seconds += level.lapHops * level.latency +
               bytes / level.inside * (level.ranks - 1) / level.ranks / level.ring;
  return seconds;
}

// Up and down a binary tree over the ranks of each level, pipelined: every link carries all data
// twice.
double treeAllReduce(llvm::ArrayRef<UsedLevel> levels, double bytes) {
  double seconds = 2 * bytes / ringBandwidth(levels);
  for (const UsedLevel &level : levels)
    seconds += 2 * std::ceil(std::log2(level.ranks)) * level.latency;
  return seconds;
}

CollectiveChoice fasterOf(const CollectiveChoice &a, const CollectiveChoice &b) {
  return b.seconds < a.seconds ? b : a;
}

CollectiveChoice plainAllReduce(llvm::ArrayRef<UsedLevel> levels, double bytes) {
  CollectiveChoice best = fasterOf({2 * ringLap(levels, bytes), "ring"},
                                   {2 * levelByLevelLap(levels, bytes), "level by level"});
  best = fasterOf(best, {treeAllReduce(levels, bytes), "tree"});
  // The outermost switch reduces: each rank sends its part once and receives the sum once.
  const UsedLevel &last = levels.back();
  if (last.inNetwork > 0)
    best = fasterOf(best, {2 * levelByLevelLap(levels.drop_back(), bytes) + 2 * last.latency +
                               bytes / last.inside / last.inNetwork,
                           "network switch"});
  return best;
}

double plainAllToAll(llvm::ArrayRef<UsedLevel> levels, double bytes) {
  double latency = 0;
  for (const UsedLevel &level : levels)
    latency += level.latency * level.inside * level.lapHops;
  return latency + allToAllTransfer(bytes, levels);
}

double plainBroadcast(llvm::ArrayRef<UsedLevel> levels, double bytes) {
  double latency = 0;
  for (const UsedLevel &level : levels)
    latency += std::ceil(std::log2(level.ranks)) * level.latency;
  return latency + bytes / ringBandwidth(levels);
}

// MPI between processes, or what XLA makes of a TPU's torus.
CollectiveChoice plainChoice(CollectiveKind kind, double bytes, llvm::ArrayRef<UsedLevel> levels) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return plainAllReduce(levels, bytes);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return fasterOf({ringLap(levels, bytes), "ring"},
                    {levelByLevelLap(levels, bytes), "level by level"});
  case CollectiveKind::AllToAll:
    return {plainAllToAll(levels, bytes), "pairs"};
  case CollectiveKind::Broadcast:
    return {plainBroadcast(levels, bytes), "tree"};
  case CollectiveKind::SendRecv: // some pair of neighbours is joined by the outermost level only
    return {levels.back().latency + bytes / levels.back().pair, "pair"};
  }
  return {};
}

bool hasNccl(const Topology &topology) {
  return topology.device.deviceClass == DeviceClass::Gpu &&
         llvm::none_of(topology.levels,
                       [](const LinkLevel &level) { return level.kind == LinkKind::Ici; });
}

} // namespace

CollectiveChoice modelChoice(CollectiveKind kind, double bytes, const RankGroup &group,
                             const Topology &topology) {
  std::vector<UsedLevel> levels = usedLevels(group, topology);
  if (levels.empty() || bytes <= 0)
    return {0, "", ""};
  const CollectiveConstants &constants = collectiveConstantsOf(topology.device);
  CollectiveChoice choice = hasNccl(topology) ? ncclChoice(kind, {bytes, &constants}, levels)
                                              : plainChoice(kind, bytes, levels);
  choice.seconds += constants.start;
  return choice;
}

llvm::SmallVector<double> linkSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                                      const Topology &topology) {
  llvm::SmallVector<double> busy(topology.levels.size(), 0.0);
  std::vector<UsedLevel> levels = usedLevels(group, topology);
  double size = sizeOf(levels);
  if (levels.empty() || bytes <= 0)
    return busy;
  for (const UsedLevel &level : levels) {
    double ring = bytes * (size - 1) / size / level.inside / level.ring;
    switch (kind) {
    case CollectiveKind::AllReduce:
      busy[level.index] = levels.size() == 1 && level.inNetwork > 0
                              ? std::min(2 * ring, bytes / level.inNetwork)
                              : 2 * ring;
      break;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      busy[level.index] = ring;
      break;
    case CollectiveKind::AllToAll:
      busy[level.index] = bytes * (size - level.inside) / size / level.spread;
      break;
    case CollectiveKind::Broadcast:
      busy[level.index] = bytes / level.inside / level.ring;
      break;
    case CollectiveKind::SendRecv:
      if (&level == &levels.back())
        busy[level.index] = bytes / level.pair;
      break;
    }
  }
  return busy;
}

} // namespace dtc
