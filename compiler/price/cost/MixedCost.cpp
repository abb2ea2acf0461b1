// Collectives over parts of different devices, and over slow links.
#include "compiler/price/cost/MixedCost.h"

#include "compiler/price/cost/CollectiveConstants.h"
#include "compiler/price/cost/HomogeneousCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

namespace dtc {
namespace {

int64_t firstRankOf(const RankGroup &group, int64_t rank) {
  int64_t first = rank;
  for (const RankSpan &span : group)
    first -= rank / span.stride % span.size * span.stride;
  return first;
}

// The ranks of a group, ascending, as far as the topology has them.
std::vector<int64_t> ranksFrom(const RankGroup &group, int64_t first, const Topology &topology) {
  std::vector<int64_t> ranks{first};
  for (const RankSpan &span : group) {
    size_t count = ranks.size();
    for (int64_t i = 1; i < span.size; ++i)
      for (size_t j = 0; j < count; ++j)
        ranks.push_back(ranks[j] + i * span.stride);
  }
  llvm::erase_if(ranks, [&](int64_t rank) { return rank >= topology.numDevices(); });
  llvm::sort(ranks);
  return ranks;
}

// The ranks of a group in one part, counted from the part's first.
struct PartRanks {
  size_t part;
  std::vector<int64_t> ranks;

  double size() const { return static_cast<double>(ranks.size()); }
};

std::vector<PartRanks> byPart(llvm::ArrayRef<int64_t> ranks, const Topology &topology) {
  std::vector<PartRanks> parts;
  for (int64_t rank : ranks) {
    size_t part = topology.partOf(rank);
    if (parts.empty() || parts.back().part != part)
      parts.push_back({part, {}});
    parts.back().ranks.push_back(rank - topology.firstRankOf(part));
  }
  return parts;
}

// The spans of `count` ranks of a group that lie in one part: inner spans are whole before an outer
// one is begun.
RankGroup spansOf(size_t ranks, const RankGroup &group) {
  int64_t count = static_cast<int64_t>(ranks);
  RankGroup inside;
  for (RankSpan span : group) {
    int64_t size = std::min(span.size, count);
    if (size > 1)
      inside.push_back({size, span.stride});
    count = (count + span.size - 1) / span.size;
  }
  return inside;
}

// Returns the seconds among ranks of one homogeneous topology, including their slow links.
double homogeneousSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                          llvm::ArrayRef<int64_t> ranks, const Topology &topology) {
  if (topology.isUniform())
    return homogeneousChoice(kind, bytes, group, topology).seconds;
  Topology seen;
  seen.device = topology.device;
  seen.nodes = topology.nodes;
  seen.devicesPerNode = topology.devicesPerNode;
  seen.levels = topology.levelsOf(ranks);
  return homogeneousChoice(kind, bytes, group, seen).seconds;
}

// Returns the number of groups with ranks in both device groups: all of them share the link between
// the two.
double groupsAcross(const RankGroup &group, size_t here, size_t there, const Topology &topology) {
  int64_t begin = topology.firstRankOf(there);
  int64_t end = begin + topology.parts[there].numDevices();
  std::set<int64_t> across; // their first ranks
  int64_t first = topology.firstRankOf(here), count = topology.parts[here].numDevices();
  for (int64_t rank = first; rank < first + count; ++rank) {
    int64_t base = firstRankOf(group, rank), last = base;
    for (const RankSpan &span : group)
      last += (span.size - 1) * span.stride;
    if (last < begin || base >= end || across.count(base))
      continue;
    std::vector<int64_t> ranks = ranksFrom(group, base, topology);
    auto at = llvm::lower_bound(ranks, begin);
    if (at != ranks.end() && *at < end)
      across.insert(base);
  }
  return static_cast<double>(across.size());
}

// Bytes that one group sends over the link between two of its parts, in one direction.
double bytesAcross(CollectiveKind kind, double bytes, double size, double here, double there) {
  switch (kind) {
  case CollectiveKind::AllReduce: // a ring: reduce-scatter, then all-gather
    return 2 * bytes * (size - 1) / size;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return bytes * (size - 1) / size;
  case CollectiveKind::AllToAll: // each of here has a message for each of there
    return bytes / size * here * there;
  case CollectiveKind::Broadcast:
  case CollectiveKind::SendRecv:
    return bytes;
  }
  return bytes;
}

// Returns the bytes of an equivalent collective inside one device group. A ring over all ranks
// carries (n - 1) / n of the tensor where the group alone would carry (k - 1) / k; an all-to-all
// carries the messages among the group's own ranks.
double bytesInside(CollectiveKind kind, double bytes, double size, double here) {
  switch (kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return here > 1 ? bytes * ((size - 1) / size) / ((here - 1) / here) : 0;
  case CollectiveKind::AllToAll:
    return bytes * here / size;
  case CollectiveKind::Broadcast:
  case CollectiveKind::SendRecv:
    return bytes;
  }
  return bytes;
}

// One ring, or one all-to-all, through parts: the slowest of the parts' own links and of the links
// between them sets the pace, and every crossing is waited for.
double mixedSeconds(CollectiveKind kind, double bytes, const RankGroup &group,
                    llvm::ArrayRef<PartRanks> parts, const Topology &topology) {
  double size = 0;
  for (const PartRanks &each : parts)
    size += each.size();
  bool isAllToAll = kind == CollectiveKind::AllToAll;
  double inside = 0, between = 0, start = 0, laps = kind == CollectiveKind::AllReduce ? 2 : 1;
  double crossings = 0; // seconds
  for (size_t i = 0; i < parts.size(); ++i) {
    const Topology &part = topology.parts[parts[i].part];
    start = std::max(start, collectiveConstantsOf(part.device).start);
    inside = std::max(
        inside, homogeneousSeconds(kind, bytesInside(kind, bytes, size, parts[i].size()),
                                   spansOf(parts[i].ranks.size(), group), parts[i].ranks, part));
    for (size_t j = i + 1; j < parts.size(); ++j) {
      if (!isAllToAll && j != i + 1 && !(i == 0 && j + 1 == parts.size()))
        continue; // a ring visits the parts in turn
      const LinkLevel &link = topology.linkBetween(parts[i].part, parts[j].part)->link;
      double volume = bytesAcross(kind, bytes, size, parts[i].size(), parts[j].size()) *
                      groupsAcross(group, parts[i].part, parts[j].part, topology);
      double reach = reachOf(link.kind, part.device).ring;
      between = std::max(between, volume / (link.effectiveBandwidth() * reach));
      crossings = isAllToAll ? std::max(crossings, link.latency) : crossings + link.latency;
    }
  }
  return laps * crossings + std::max(inside, start + between);
}

} // namespace

double secondsOfGroup(CollectiveKind kind, double bytes, const RankGroup &group,
                      const Topology &topology, int64_t rank) {
  std::vector<int64_t> ranks = ranksFrom(group, firstRankOf(group, rank), topology);
  if (ranks.size() < 2 || bytes <= 0)
    return 0;
  if (topology.isHomogeneous())
    return homogeneousSeconds(kind, bytes, group, ranks, topology);
  std::vector<PartRanks> parts = byPart(ranks, topology);
  if (parts.size() == 1)
    return homogeneousSeconds(kind, bytes, spansOf(parts[0].ranks.size(), group), parts[0].ranks,
                              topology.parts[parts[0].part]);
  return mixedSeconds(kind, bytes, group, parts, topology);
}

double secondsOfSlowestGroup(CollectiveKind kind, double bytes, const RankGroup &group,
                             const Topology &topology) {
  // Groups with as many ranks in each part and each group of devices cost the same.
  double slowest = 0;
  std::set<std::vector<std::pair<size_t, size_t>>> seen;
  for (int64_t rank = 0; rank < topology.numDevices(); ++rank) {
    if (firstRankOf(group, rank) != rank)
      continue;
    std::vector<std::pair<size_t, size_t>> signature; // index, ranks
    for (int64_t each : ranksFrom(group, rank, topology)) {
      auto after = llvm::upper_bound(topology.groups, each, [](int64_t at, const DeviceGroup &of) {
        return at < of.firstDevice;
      });
      size_t index = topology.groups.empty() ? topology.partOf(each)
                                             : static_cast<size_t>(after - topology.groups.begin());
      if (signature.empty() || signature.back().first != index)
        signature.push_back({index, 0});
      ++signature.back().second;
    }
    if (seen.insert(signature).second)
      slowest = std::max(slowest, secondsOfGroup(kind, bytes, group, topology, rank));
  }
  return slowest;
}

} // namespace dtc
