// Seconds of one collective over the levels of links.
#include "compiler/cost/Constants.h"
#include "compiler/cost/Cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtc {
namespace {

// One level as a group uses it. Bandwidths are what a device reaches.
struct UsedLevel {
  double ranks;  // of the group, joined here
  double inside; // ranks of the group within one group of the level below: each has a link of its
                 // own to this level
  double bandwidth, inNetworkBandwidth, latency;
  bool inNetworkReduction;
};

std::vector<UsedLevel> usedLevels(const RankGroup &group, const Topology &topology) {
  llvm::SmallVector<int64_t> ranks = ranksPerLevel(group, topology);
  std::vector<UsedLevel> used;
  double inside = 1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const LinkLevel &level = topology.levels[i];
    LinkConstants constants = constantsOf(level.kind, topology.device);
    double bandwidth = level.effectiveBandwidth(), count = static_cast<double>(ranks[i]);
    if (ranks[i] > 1)
      used.push_back({count, inside, bandwidth * constants.share,
                      bandwidth * constants.inNetworkShare, level.latency,
                      level.inNetworkReduction});
    inside *= count;
  }
  return used;
}

struct Volume {
  double size, bytes; // ranks of the group; bytes of the whole tensor
};

// The bandwidth at which a ring over all ranks moves: a ring passes a level once, but NCCL's
// channels spread it over the links of all ranks inside.
double ringBandwidth(llvm::ArrayRef<UsedLevel> levels) {
  double least = std::numeric_limits<double>::infinity();
  for (const UsedLevel &level : levels)
    least = std::min(least, level.bandwidth * level.inside);
  return least;
}

// One lap of a ring of `size` ranks has size - 1 hops; at a level, one between each two
// neighbouring groups inside it.
double lapLatency(llvm::ArrayRef<UsedLevel> levels, double size) {
  double seconds = 0;
  for (const UsedLevel &level : levels)
    seconds += level.latency * (size / level.inside - size / (level.inside * level.ranks));
  return seconds;
}

// Reduce-scatter, or all-gather.
double ringLap(llvm::ArrayRef<UsedLevel> levels, Volume volume) {
  return lapLatency(levels, volume.size) +
         volume.bytes * (volume.size - 1) / volume.size / ringBandwidth(levels);
}

// Reduce-scatter level by level from the inside out, or all-gather from the outside in: at each
// level a rank holds what the levels inside left to it.
double levelByLevelLap(llvm::ArrayRef<UsedLevel> levels, Volume volume) {
  double seconds = 0;
  for (const UsedLevel &level : levels)
    seconds += (level.ranks - 1) * level.latency +
               volume.bytes / level.inside * (level.ranks - 1) / level.ranks / level.bandwidth;
  return seconds;
}

// Up and down a binary tree over the ranks of each level, pipelined: every link carries all data
// twice.
double treeAllReduce(llvm::ArrayRef<UsedLevel> levels, Volume volume) {
  double seconds = 2 * volume.bytes / ringBandwidth(levels);
  for (const UsedLevel &level : levels)
    seconds += 2 * std::ceil(std::log2(level.ranks)) * level.latency;
  return seconds;
}

double allReduce(llvm::ArrayRef<UsedLevel> levels, Volume volume) {
  double best = std::min({2 * ringLap(levels, volume), 2 * levelByLevelLap(levels, volume),
                          treeAllReduce(levels, volume)});
  // The outermost switch reduces: each rank sends its part once and receives the sum once.
  const UsedLevel &last = levels.back();
  if (last.inNetworkReduction)
    best = std::min(best, 2 * levelByLevelLap(levels.drop_back(), volume) + 2 * last.latency +
                              volume.bytes / last.inside / last.inNetworkBandwidth);
  return best;
}

// Each rank has a message for every other rank; those to other groups of a level leave through the
// rank's own link.
double allToAll(llvm::ArrayRef<UsedLevel> levels, Volume volume) {
  double latency = 0, slowest = 0;
  for (const UsedLevel &level : levels) {
    latency += level.latency * level.inside * (level.ranks - 1);
    slowest = std::max(slowest,
                       volume.bytes * (volume.size - level.inside) / volume.size / level.bandwidth);
  }
  return latency + slowest;
}

double broadcast(llvm::ArrayRef<UsedLevel> levels, Volume volume) {
  double latency = 0;
  for (const UsedLevel &level : levels)
    latency += std::ceil(std::log2(level.ranks)) * level.latency;
  return latency + volume.bytes / ringBandwidth(levels);
}

} // namespace

llvm::SmallVector<int64_t> ranksPerLevel(const RankGroup &group, const Topology &topology) {
  llvm::SmallVector<int64_t> ranks;
  int64_t size = 1, joined = 1;
  for (const RankSpan &span : group)
    size *= span.size;
  for (size_t i = 0; i < topology.levels.size(); ++i) {
    int64_t width = topology.devicesWithin(i), within = 1;
    // Where groups straddle the level's boundaries, as 6 ranks on nodes of 8 do, the worst group
    // counts: 2.
    for (const RankSpan &span : group)
      if (width % span.stride == 0)
        within *= std::gcd(span.size, width / span.stride);
    bool last = i + 1 == topology.levels.size();
    ranks.push_back((last ? size : within) / joined);
    joined = within;
  }
  return ranks;
}

double collectiveSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                         const Topology &topology) {
  std::vector<UsedLevel> levels = usedLevels(group, topology);
  if (levels.empty() || bytes <= 0)
    return 0;
  Volume volume{1, bytes};
  for (const UsedLevel &level : levels)
    volume.size *= level.ranks;
  double seconds = 0;
  switch (kind) {
  case CollectiveKind::AllReduce:
    seconds = allReduce(levels, volume);
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    seconds = std::min(ringLap(levels, volume), levelByLevelLap(levels, volume));
    break;
  case CollectiveKind::AllToAll:
    seconds = allToAll(levels, volume);
    break;
  case CollectiveKind::Broadcast:
    seconds = broadcast(levels, volume);
    break;
  case CollectiveKind::SendRecv: // some pair of neighbours is joined by the outermost level only
    seconds = levels.back().latency + bytes / levels.back().bandwidth;
    break;
  }
  return seconds + constantsOf(topology.device).collectiveBase;
}

} // namespace dtc
