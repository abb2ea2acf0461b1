// Ranks of data parallelism among which ZeRO shards, the groups holding copies. Internal to this
// folder.
#pragma once

#include "compiler/planner/SearchSpace.h"

namespace dtc {

// Returns whether groups of so many ranks of dp, with all of cp, may share what ZeRO splits: they
// split something, hold all experts, and are whole runs along the axes, so that all of them are
// alike.
bool mayShare(const Decisions &decisions, int64_t ranks);

// Returns the numbers of ranks of dp among which ZeRO may shard, besides all of them, the fewest
// first. Example: dp 12 with cp 1 has 2, 3, 4 and 6.
std::vector<int64_t> zeroGroupsOf(const Decisions &mesh);

// Returns whether enumerateGroups has to look at all.
bool mayHaveGroups(const Decisions &decisions, const SpaceLimits &limits, const Pins &pins);

// Returns the decisions, in which ZeRO is over all of dp, with ZeRO within groups of each size
// instead; nothing where a pin names the size.
std::vector<Decisions> enumerateGroups(const Decisions &overAll, const SpaceLimits &limits,
                                       const Pins &pins);

} // namespace dtc
