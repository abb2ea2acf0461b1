// Enumerates the groups of data-parallel ranks within which ZeRO shards.
#include "compiler/search/planner/ZeroGroups.h"

#include "compiler/search/planner/Divisors.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace dtc {

using D = Decisions;

// Returns true if the innermost `ranks` of the copies over dp and cp are consecutive runs along the
// axes.
static bool isRunOfReplicas(const Decisions &d, int64_t ranks) {
  for (char axis : d.order) {
    int64_t size = axis == 'c' || axis == 'd' ? d.sizeOf(axis) : 1, part = std::min(size, ranks);
    if (ranks % part != 0 || size % part != 0)
      return false;
    ranks /= part;
  }
  return true;
}

bool mayShare(const Decisions &d, int64_t ranks) {
  return ranks > 1 && d.dp % ranks == 0 && d.ranksOfExperts(ranks) % d.ep == 0 &&
         isRunOfReplicas(d, ranks * d.cp);
}

std::vector<int64_t> zeroGroupsOf(const Decisions &mesh) {
  std::vector<int64_t> groups;
  auto add = [&](int64_t ranks) {
    if (ranks < mesh.dp && mayShare(mesh, ranks))
      groups.push_back(ranks);
  };
  for (int64_t ranks = 2; ranks * ranks <= mesh.dp; ++ranks) {
    add(ranks);
    if (mesh.dp % ranks == 0 && ranks * ranks != mesh.dp)
      add(mesh.dp / ranks);
  }
  llvm::sort(groups);
  return groups;
}

bool mayHaveGroups(const Decisions &d, const SpaceLimits &limits, const Pins &pins) {
  return d.zero > 0 && d.dp > 2 && !d.hasUnevenTensor() && !pins[&D::zeroGroup] &&
         (!limits.space || limits.space->zeroGroups != 0);
}

std::vector<Decisions> enumerateGroups(const Decisions &overAll, const SpaceLimits &limits,
                                       const Pins &pins) {
  std::vector<Decisions> all;
  if (!mayHaveGroups(overAll, limits, pins))
    return all;
  for (int64_t ranks : zeroGroupsOf(overAll)) {
    Decisions d = withZeroGroup(overAll, ranks);
    if (isAllowed(d, limits))
      all.push_back(d);
  }
  return all;
}

int64_t pinnedGroupOf(const Pins &pins, int64_t dp) {
  int64_t ranks = pins[&D::zeroGroup].value_or(0);
  return ranks == dp ? 0 : ranks;
}

Decisions withZeroGroup(Decisions d, int64_t ranks) {
  d.zeroGroup = ranks;
  return d;
}

std::optional<UserError> findGroupError(int64_t ranks, const Pins &pins) {
  auto number = [](int64_t value) { return std::to_string(value); };
  int64_t group = pins[&D::zeroGroup].value_or(0);
  if (group == 0 || group == ranks)
    return std::nullopt;
  std::string named = "--fix zero_group=" + number(group);
  if (ranks % group != 0)
    return UserError(
        named + " does not divide the " + number(ranks) + " ranks that data parallelism may have",
        "the nearest that does is zero_group=" + number(nearestOf(divisorsOf(ranks), group)));
  if (group == 1)
    return UserError(named + ": a group of one rank splits nothing",
                     "use zero_group=2 or more, or zero=0 without it");
  if (pins[&D::zero] && *pins[&D::zero] == 0)
    return UserError(named + ": ZeRO-0 splits nothing over groups",
                     "use zero=1 or more, or leave zero_group out");
  return std::nullopt;
}

} // namespace dtc
