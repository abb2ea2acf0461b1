#include "compiler/prove/verify/GroupAxes.h"

#include <algorithm>

namespace dtc {

GroupAxes::GroupAxes(const format::Manifest &manifest) : manifest(manifest), mesh(manifest) {
  ofPrograms.resize(manifest.programs()->size());
  std::vector<int64_t> first(ofPrograms.size(), -1);
  for (uint32_t rank = 0; rank < manifest.rank_program()->size(); ++rank) {
    uint32_t program = manifest.rank_program()->Get(rank);
    if (first[program] < 0)
      first[program] = rank;
    ofPrograms[program] |= differing(static_cast<uint32_t>(first[program]), rank);
  }
}

AxisSet GroupAxes::differing(uint32_t a, uint32_t b) const {
  AxisSet axes = 0;
  uint32_t left = mesh.positionOf(a), right = mesh.positionOf(b);
  for (size_t axis = mesh.sizes().size(); axis-- > 0;) {
    uint32_t size = mesh.sizes()[axis];
    if (left % size != right % size)
      axes |= static_cast<AxisSet>(1u << axis);
    left /= size;
    right /= size;
  }
  return axes;
}

const GroupAxes::Facts &GroupAxes::factsOf(uint32_t index) const {
  auto [entry, isNew] = groups.try_emplace(index);
  Facts &facts = entry->second;
  if (!isNew)
    return facts;
  facts.programs.resize(ofPrograms.size());
  const format::Group &group = *manifest.groups()->Get(index);
  const auto &ranks = *group.ranks();
  struct Found {
    uint32_t first, count;
    AxisSet axes;
  };
  std::map<uint32_t, Found> inList;
  for (uint32_t begin = 0; begin < ranks.size(); begin += group.size()) {
    inList.clear();
    for (uint32_t i = begin; i < begin + group.size(); ++i) {
      uint32_t rank = ranks.Get(i), program = manifest.rank_program()->Get(rank);
      facts.ascends &= i == begin || mesh.positionOf(rank) > mesh.positionOf(ranks.Get(i - 1));
      auto [found, isFirst] = inList.try_emplace(program, Found{rank, 0, 0});
      ++found->second.count;
      found->second.axes |= differing(found->second.first, rank);
    }
    for (const auto &[program, found] : inList) {
      uint64_t all = 1;
      for (size_t axis = 0; axis < mesh.sizes().size(); ++axis)
        if (found.axes & (1u << axis))
          all *= mesh.sizes()[axis];
      AxisSet joined = all == found.count ? found.axes : 0;
      OfProgram &of = facts.programs[program];
      of.joined = of.any ? static_cast<AxisSet>(of.joined & joined) : joined;
      of.spread |= found.axes;
      of.any = true;
      for (const auto &[other, unused] : inList)
        if (std::find(of.met.begin(), of.met.end(), other) == of.met.end())
          of.met.push_back(other);
    }
  }
  for (OfProgram &of : facts.programs)
    std::sort(of.met.begin(), of.met.end());
  return facts;
}

AxisSet GroupAxes::joined(uint32_t group, uint32_t program) const {
  return factsOf(group).programs[program].joined;
}

AxisSet GroupAxes::spread(uint32_t group, uint32_t program) const {
  return factsOf(group).programs[program].spread;
}

const std::vector<uint32_t> &GroupAxes::met(uint32_t group, uint32_t program) const {
  return factsOf(group).programs[program].met;
}

const std::vector<GroupAxes::Way> &GroupAxes::waysOf(uint32_t index, uint32_t shift) const {
  auto [entry, isNew] = ways.try_emplace({index, shift});
  std::vector<Way> &all = entry->second;
  if (!isNew)
    return all;
  all.resize(ofPrograms.size());
  std::vector<std::vector<bool>> found(all.size(), std::vector<bool>(all.size()));
  const format::Group &group = *manifest.groups()->Get(index);
  for (uint32_t position = 0; position < group.ranks()->size(); ++position) {
    uint32_t first = position / group.size() * group.size();
    uint32_t rank = group.ranks()->Get(position),
             peer = group.ranks()->Get(first + (position - first + shift) % group.size());
    uint32_t program = manifest.rank_program()->Get(rank);
    all[program].crossed |= differing(rank, peer);
    found[program][manifest.rank_program()->Get(peer)] = true;
  }
  for (size_t program = 0; program < all.size(); ++program)
    for (uint32_t other = 0; other < all.size(); ++other)
      if (found[program][other])
        all[program].peers.push_back(other);
  return all;
}

std::string axisNames(const format::Manifest &manifest, AxisSet axes) {
  std::string names;
  for (uint32_t axis = 0; axis < manifest.mesh()->size(); ++axis)
    if (axes & (1u << axis))
      names += (names.empty() ? "" : " and ") + manifest.mesh()->Get(axis)->name()->str();
  return names;
}

} // namespace dtc
