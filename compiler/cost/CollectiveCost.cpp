// Seconds of one collective over the levels of links.
#include "compiler/cost/Calibration.h"
#include "compiler/cost/NcclCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <set>

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

// Seconds 0 and no algorithm where nothing is sent.
CollectiveChoice homogeneousChoice(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology) {
  std::vector<UsedLevel> levels = usedLevels(group, topology);
  if (levels.empty() || bytes <= 0)
    return {0, "", ""};
  const CollectiveConstants &constants = collectiveConstantsOf(topology.device);
  CollectiveChoice choice = hasNccl(topology) ? ncclChoice(kind, {bytes, &constants}, levels)
                                              : plainChoice(kind, bytes, levels);
  choice.seconds += constants.start;
  if (topology.device.calibration)
    choice.seconds = calibratedCollective(kind, bytes, group, topology, choice.seconds);
  return choice;
}

double homogeneousSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                          const Topology &topology) {
  return homogeneousChoice(kind, bytes, group, topology).seconds;
}

// The ranks of the group of `rank`, ascending.
std::vector<int64_t> ranksOf(const RankGroup &group, int64_t rank) {
  std::vector<int64_t> ranks{0};
  int64_t base = rank;
  for (const RankSpan &span : group) {
    base -= rank / span.stride % span.size * span.stride;
    size_t count = ranks.size();
    for (int64_t i = 1; i < span.size; ++i)
      for (size_t j = 0; j < count; ++j)
        ranks.push_back(ranks[j] + i * span.stride);
  }
  for (int64_t &each : ranks)
    each += base;
  llvm::sort(ranks);
  return ranks;
}

// The group's ranks by part.
struct PartRanks {
  size_t part;
  std::vector<int64_t> ranks;
};

std::vector<PartRanks> byPart(const std::vector<int64_t> &ranks, const Topology &topology) {
  std::vector<PartRanks> parts;
  for (int64_t rank : ranks) {
    if (rank >= topology.numDevices()) // the last group of a size that does not divide
      break;
    size_t part = topology.partOf(rank);
    if (parts.empty() || parts.back().part != part)
      parts.push_back({part, {}});
    parts.back().ranks.push_back(rank);
  }
  return parts;
}

// The spans of ranks of one part, for its own topology.
RankGroup spansOf(const std::vector<int64_t> &ranks, const RankGroup &group) {
  int64_t count = static_cast<int64_t>(ranks.size());
  RankGroup inside;
  for (RankSpan span : group) { // inner spans are whole before an outer one is begun
    int64_t size = std::min(span.size, count);
    if (size > 1)
      inside.push_back({size, span.stride});
    count = (count + span.size - 1) / span.size;
  }
  return inside;
}

// Of ranks of one homogeneous topology, with the slow links that they have; the ranks count from
// `first`.
double alikeSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                    std::vector<int64_t> ranks, int64_t first, const Topology &topology) {
  if (topology.isUniform())
    return homogeneousSeconds(kind, bytes, group, topology);
  for (int64_t &rank : ranks)
    rank -= first;
  Topology seen;
  seen.device = topology.device;
  seen.nodes = topology.nodes;
  seen.devicesPerNode = topology.devicesPerNode;
  seen.levels = topology.levelsOf(ranks);
  return homogeneousSeconds(kind, bytes, group, seen);
}

// One ring, or one all-to-all, through parts: each part with its own links, and between two parts
// the link that joins them, which all groups at their boundary share.
double mixedSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                    const std::vector<PartRanks> &parts, const Topology &topology) {
  double inside = 0, between = 0, start = 0, size = 0, groupSize = 1;
  for (const PartRanks &each : parts)
    size += static_cast<double>(each.ranks.size());
  for (const RankSpan &span : group)
    groupSize *= static_cast<double>(span.size);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Topology &part = topology.parts[parts[i].part];
    inside =
        std::max(inside, alikeSeconds(kind, bytes, spansOf(parts[i].ranks, group), parts[i].ranks,
                                      topology.firstRankOf(parts[i].part), part));
    start = std::max(start, collectiveConstantsOf(part.device).start);
    for (size_t j = i + 1; j < parts.size(); ++j) {
      if (kind != CollectiveKind::AllToAll && j != i + 1 && !(i == 0 && j + 1 == parts.size()))
        continue; // a ring visits the parts in turn
      const LinkLevel &link = topology.linkBetween(parts[i].part, parts[j].part)->link;
      double here = static_cast<double>(parts[i].ranks.size());
      double there = static_cast<double>(parts[j].ranks.size());
      double groups = std::max(1.0, static_cast<double>(topology.numDevices()) / groupSize);
      double volume = bytes * (size - 1) / size;
      if (kind == CollectiveKind::AllReduce)
        volume *= 2;
      else if (kind == CollectiveKind::AllToAll)
        volume = bytes * here * there / size;
      else if (kind == CollectiveKind::Broadcast || kind == CollectiveKind::SendRecv)
        volume = bytes;
      double reach = reachOf(link.kind, part.device).ring;
      between =
          std::max(between, link.latency + volume * groups / (link.effectiveBandwidth() * reach));
    }
  }
  return start + inside + between;
}

} // namespace

double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology, int64_t rank) {
  if (topology.isUniform())
    return homogeneousSeconds(kind, bytes, group, topology);
  std::vector<int64_t> ranks = ranksOf(group, rank);
  if (ranks.size() < 2 || bytes <= 0)
    return 0;
  if (topology.isHomogeneous())
    return alikeSeconds(kind, bytes, group, ranks, 0, topology);
  std::vector<PartRanks> parts = byPart(ranks, topology);
  if (parts.size() == 1)
    return alikeSeconds(kind, bytes, spansOf(parts[0].ranks, group), parts[0].ranks,
                        topology.firstRankOf(parts[0].part), topology.parts[parts[0].part]);
  return mixedSeconds(kind, bytes, group, parts, topology);
}

double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology) {
  if (topology.isHomogeneous())
    return homogeneousSeconds(kind, bytes, group, topology);
  // Groups with as many ranks in each part are alike.
  double slowest = 0;
  std::set<std::vector<std::pair<size_t, size_t>>> seen;
  for (int64_t rank = 0; rank < topology.numDevices(); ++rank) {
    std::vector<int64_t> ranks = ranksOf(group, rank);
    if (ranks.front() != rank)
      continue; // seen with its first rank
    std::vector<std::pair<size_t, size_t>> signature;
    for (const PartRanks &part : byPart(ranks, topology))
      signature.push_back({part.part, part.ranks.size()});
    if (seen.insert(signature).second)
      slowest = std::max(slowest, collectiveSeconds(kind, bytes, group, topology, rank));
  }
  return slowest;
}

CollectiveChoice explainCollective(CollectiveKind kind, double bytes, const RankGroup &group,
                                   const Topology &topology) {
  if (topology.isHomogeneous())
    return homogeneousChoice(kind, bytes, group, topology);
  double seconds = collectiveSeconds(kind, bytes, group, topology);
  return {seconds, seconds > 0 ? "ring over parts" : "", ""};
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
