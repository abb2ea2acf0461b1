// Computes a group's share of each level, by the shape of the level.
#include "compiler/price/cost/UsedLevels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtc {
namespace {

// Ranks of a group along one axis of a torus: every `stride`-th of `size`, `ranks` of them.
struct UsedAxis {
  double ranks, stride;
  bool wraps; // they go all around it
};

// The ranks' distance along an axis whose neighbours are `below` devices apart.
double strideAlong(const RankGroup &group, int64_t below, int64_t above) {
  int64_t stride = 0;
  for (const RankSpan &span : group)
    if (span.size > 1 && span.stride < above && span.stride * span.size > below) {
      int64_t here = span.stride > below ? span.stride / below : 1;
      stride = stride ? std::min(stride, here) : here;
    }
  return static_cast<double>(std::max<int64_t>(1, stride));
}

std::vector<UsedAxis> usedAxes(const RankGroup &group, const Topology &topology, size_t index) {
  const LinkLevel &level = topology.levels[index];
  int64_t below = index ? topology.devicesWithin(index - 1) : 1;
  llvm::SmallVector<int64_t> boundaries{below};
  for (int64_t dim : level.dims)
    boundaries.push_back(boundaries.back() * dim);
  if (boundaries.back() != topology.numDevices())
    boundaries.push_back(topology.numDevices());
  llvm::SmallVector<int64_t> ranks = ranksWithin(group, boundaries);
  std::vector<UsedAxis> axes;
  for (size_t i = 0; i < level.dims.size(); ++i) {
    if (ranks[i + 1] <= 1)
      continue;
    double count = static_cast<double>(ranks[i + 1]);
    double stride = strideAlong(group, boundaries[i], boundaries[i + 1]);
    bool wraps = level.wrapFrom && level.dims[i] >= level.wrapFrom &&
                 count * stride >= static_cast<double>(level.dims[i]);
    axes.push_back({count, stride, wraps});
  }
  return axes;
}

// All axes work at the same time, each on its share of the bytes. A link is passed by as many
// groups as the stride leaves ranks between.
void useTorus(const std::vector<UsedAxis> &axes, double link, UsedLevel &used) {
  double slowest = 0; // seconds a byte that a rank has for all others
  used.ring = 0;
  used.lapHops = 0;
  for (const UsedAxis &axis : axes) {
    double k = axis.ranks, each = link / axis.stride;
    used.ring += axis.wraps ? 2 * each : each;
    used.lapHops += axis.stride * (axis.wraps ? std::floor(k / 2) : k - 1);
    double load = std::floor(k / 2) * std::ceil(k / 2) / k; // load of the middle link of a line
    slowest = std::max(slowest, (axis.wraps ? load / 2 : load) / each);
  }
  used.spread = (used.ranks - 1) / used.ranks / slowest;
  used.pair = link;
}

// Returns true if some rank of the group talks to a rank at another position of its node and has no
// neighbour in its own node to forward the message.
bool leavesRail(const RankGroup &group, int64_t perNode) {
  for (const RankSpan &span : group) {
    bool within = span.stride * span.size <= perNode;
    bool along = span.stride % perNode == 0;
    bool whole = perNode % span.stride == 0 && (span.stride * span.size) % perNode == 0;
    if (!within && !along && !whole)
      return true;
  }
  return false;
}

void useShape(const RankGroup &group, const Topology &topology, UsedLevel &used) {
  const LinkLevel &level = topology.levels[used.index];
  double bandwidth = level.effectiveBandwidth(), others = static_cast<double>(level.groupSize - 1);
  double joined = used.ranks - 1;
  used.ring = used.spread = used.pair = bandwidth;
  used.lapHops = used.ranks - 1;
  switch (level.shape) {
  case LinkShape::Switch:
    break;
  case LinkShape::HostBridge:
    used.ring = used.spread = used.pair = std::min(
        bandwidth, level.sharedBandwidth / static_cast<double>(topology.devicesWithin(used.index)));
    break;
  case LinkShape::Direct:
    used.ring = level.subsetBandwidth.empty()
                    ? bandwidth * joined / others
                    : level.subsetBandwidth[static_cast<size_t>(joined) - 1];
    used.spread = used.ring;
    used.pair = level.subsetBandwidth.empty() ? bandwidth / others : level.subsetBandwidth.front();
    break;
  case LinkShape::Torus:
    useTorus(usedAxes(group, topology, used.index), bandwidth, used);
    break;
  case LinkShape::Rail:
    used.changesRails = used.inside == 1 && leavesRail(group, topology.devicesPerNode);
    used.railsChangeInside = level.crossRail == 0;
    if (level.crossRail > 0) {
      // All to all, one of the ranks of a node is on the sender's rail.
      used.spread = bandwidth * used.inside / (1 + level.crossRail * (used.inside - 1));
      if (used.changesRails)
        used.ring = used.spread = used.pair = bandwidth / level.crossRail;
    }
    break;
  case LinkShape::Dragonfly:
    // A neighbour in a ring is reached over its own link, or at half the rate through others.
    used.ring = used.pair = bandwidth * std::max(1 / others, 0.5);
    used.spread = bandwidth * std::max(joined / others, 0.5);
    break;
  }
}

} // namespace

llvm::SmallVector<int64_t> ranksWithin(const RankGroup &group, llvm::ArrayRef<int64_t> boundaries) {
  llvm::SmallVector<int64_t> ranks;
  int64_t size = 1, joined = 1;
  for (const RankSpan &span : group)
    size *= span.size;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    int64_t width = boundaries[i], within = 1;
    // If groups straddle the level's boundaries, as 6 ranks on nodes of 8 do, the worst group
    // counts: 2.
    for (const RankSpan &span : group)
      if (width % span.stride == 0)
        within *= std::gcd(span.size, width / span.stride);
    bool last = i + 1 == boundaries.size();
    ranks.push_back((last ? size : within) / joined);
    joined = within;
  }
  return ranks;
}

llvm::SmallVector<int64_t> ranksPerLevel(const RankGroup &group, const Topology &topology) {
  llvm::SmallVector<int64_t> boundaries;
  for (size_t i = 0; i < topology.levels.size(); ++i)
    boundaries.push_back(topology.devicesWithin(i));
  return ranksWithin(group, boundaries);
}

std::vector<UsedLevel> usedLevels(const RankGroup &group, const Topology &topology) {
  llvm::SmallVector<int64_t> ranks = ranksPerLevel(group, topology);
  std::vector<UsedLevel> used;
  double inside = 1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const LinkLevel &level = topology.levels[i];
    double count = static_cast<double>(ranks[i]);
    if (ranks[i] > 1) {
      UsedLevel here;
      here.index = i;
      here.ranks = count;
      here.inside = inside;
      here.latency = level.latency;
      here.hop = hopClassOf(level.kind);
      useShape(group, topology, here);
      LinkReach reach = reachOf(level.kind, topology.device);
      bool isRing = level.kind == LinkKind::NvLink && level.shape != LinkShape::Direct;
      here.ring *= reach.ring * (isRing ? smallRing(count) : 1);
      here.spread *= reach.ring;
      here.pair *= reach.pair;
      here.inNetwork = level.inNetworkReduction ? level.effectiveBandwidth() * reach.inNetwork : 0;
      used.push_back(here);
    }
    inside *= count;
  }
  return used;
}

} // namespace dtc
