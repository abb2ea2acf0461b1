#include "runtime/format/RankClasses.h"

#include <algorithm>
#include <set>

namespace dtc::format {
namespace {

// Usual layouts have as many classes as stages of a pipeline, or a few times that.
constexpr size_t maxClasses = 1024;
// The most ranks visited while classes are split.
constexpr uint64_t maxLooks = uint64_t(1) << 28;

} // namespace

std::vector<uint32_t> RankClasses::met(const Channel &channel, uint32_t position) const {
  const Group &group = *manifest.groups()->Get(channel.group);
  uint32_t first = position / group.size() * group.size();
  if (channel.kind != Channel::Collective) {
    uint32_t peer = first + (position - first + channel.shift) % group.size();
    return {classOf[group.ranks()->Get(peer)]};
  }
  std::vector<uint32_t> found;
  for (uint32_t i = first; i < first + group.size(); ++i)
    found.push_back(classOf[group.ranks()->Get(i)]);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void RankClasses::refine(const Channel &channel) {
  const Group &group = *manifest.groups()->Get(channel.group);
  std::vector<bool> takesPart(used.size());
  for (size_t program = 0; program < used.size(); ++program)
    takesPart[program] =
        std::find(used[program].begin(), used[program].end(), channel) != used[program].end();
  // The first rank of a class keeps the class for all that meet the same.
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, uint32_t> next;
  std::set<uint32_t> kept;
  std::vector<std::pair<uint32_t, uint32_t>> changed; // rank, its new class
  std::vector<uint32_t> inList;
  for (uint32_t position = 0; position < group.ranks()->size(); ++position) {
    uint32_t rank = group.ranks()->Get(position), old = classOf[rank];
    if (channel.kind != Channel::Collective || position % group.size() == 0)
      inList = met(channel, position);
    if (!takesPart[manifest.rank_program()->Get(rank)])
      continue;
    auto [entry, isNew] = next.try_emplace({old, inList}, old);
    if (isNew && !kept.insert(old).second) {
      entry->second = static_cast<uint32_t>(all.size());
      all.push_back({all[old].program, rank});
      if (all.size() > maxClasses)
        return;
    }
    if (entry->second != old)
      changed.emplace_back(rank, entry->second);
  }
  for (auto [rank, index] : changed)
    classOf[rank] = index;
}

rt::Status RankClasses::find(const VerifyContext &context,
                             const std::vector<std::vector<Channel>> &channels) {
  std::set<Channel> distinct;
  uint64_t looks = 0;
  used.resize(channels.size());
  for (size_t program = 0; program < channels.size(); ++program)
    for (Channel channel : channels[program]) {
      channel.stream = 0;
      used[program].push_back(channel);
      if (distinct.insert(channel).second)
        looks += manifest.groups()->Get(channel.group)->ranks()->size();
    }
  classOf.assign(manifest.rank_program()->begin(), manifest.rank_program()->end());
  all.resize(channels.size());
  for (uint32_t rank = static_cast<uint32_t>(classOf.size()); rank-- > 0;)
    all[classOf[rank]] = {classOf[rank], rank};
  size_t before = 0;
  for (uint64_t sum = looks; before != all.size(); sum += looks) {
    before = all.size();
    for (const Channel &channel : distinct)
      if (all.size() <= maxClasses)
        refine(channel);
    if (all.size() > maxClasses || sum > maxLooks)
      return context.fail("more than ", all.size() - 1, " ranks meet unlike others, in ",
                          distinct.size(), " ways: too many to prove that none waits forever");
  }
  // The index of each class's first rank in the groups.
  for (uint32_t rank = static_cast<uint32_t>(classOf.size()); rank-- > 0;)
    all[classOf[rank]].rank = rank;
  positions.resize(sizeOf(manifest.groups()));
  for (const Channel &channel : distinct) {
    std::vector<uint32_t> &ofGroup = positions[channel.group];
    ofGroup.resize(all.size());
    const auto &ranks = *manifest.groups()->Get(channel.group)->ranks();
    for (uint32_t position = 0; position < ranks.size(); ++position)
      if (uint32_t index = classOf[ranks.Get(position)]; all[index].rank == ranks.Get(position))
        ofGroup[index] = position;
  }
  return {};
}

std::vector<uint32_t> RankClasses::partners(uint32_t index, const Channel &channel) const {
  return met(channel, positions[channel.group][index]);
}

} // namespace dtc::format
