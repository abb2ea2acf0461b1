// Enumerates the groups of data-parallel ranks within which ZeRO shards; the groups hold copies of
// each other. Internal to this folder.
#pragma once

#include "compiler/decide/decisions/Pins.h"
#include "compiler/search/planner/SpaceLimits.h"

#include <optional>
#include <vector>

namespace dtc {

// Returns true if groups of this many ranks of dp, with all of cp, may hold a copy each of what
// ZeRO splits. Such groups split something, hold all experts, and are consecutive runs along the
// axes, so that all of them are equivalent.
bool mayShare(const Decisions &decisions, int64_t ranks);

// Returns the numbers of ranks of dp among which ZeRO may shard, besides all of them, the fewest
// first. Example: dp 12 with cp 1 has 2, 3, 4 and 6.
std::vector<int64_t> zeroGroupsOf(const Decisions &mesh);

// Returns true if enumerateGroups may return any decisions.
bool mayHaveGroups(const Decisions &decisions, const SpaceLimits &limits, const Pins &pins);

// Returns the decisions, in which ZeRO is over all of dp, with ZeRO within groups of each size
// instead; empty if a pin gives the size.
std::vector<Decisions> enumerateGroups(const Decisions &overAll, const SpaceLimits &limits,
                                       const Pins &pins);

// Returns the ranks of the group that pins ask for; 0: none, or all of the `dp` ranks.
int64_t pinnedGroupOf(const Pins &pins, int64_t dp);

// Returns the decisions with ZeRO within groups of so many ranks of dp; 0: over all of them.
Decisions withZeroGroup(Decisions decisions, int64_t ranks);

// Returns an error if the pinned group does not divide `ranks`: those of data parallelism, or the
// number that dp divides if it is open.
std::optional<UserError> findGroupError(int64_t ranks, const Pins &pins);

} // namespace dtc
