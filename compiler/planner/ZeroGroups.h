// Ranks of data parallelism among which ZeRO shards, the groups holding copies. Internal to this folder.
#pragma once

#include "compiler/planner/SearchSpace.h"

namespace dtc {

// Devices that each level of links joins, from the innermost on, but for the outermost, which joins
// all. Example: {8, 256} of 64 DGX H100.
std::vector<int64_t> linkBoundaries(const Topology &topology);

// Ranks of dp among which ZeRO may shard, besides all of them, the fewest first.
struct ZeroGroup {
  int64_t ranks = 1;
  // 0 where the group is what of a mesh lies within a boundary of links. Otherwise it is between
  // two: twice as many ranks as this, which are a power of two times those within the inner one (1:
  // ZeRO splits nothing). It is a choice where memory wants it: see isGroupChoice.
  int64_t inner = 0;
};

// Example: dp 1024 on 128 DGX H100 has {8}, {16, 8}, {32, 16}, {64, 32}, {128, 64}, {256}, {512, 256}.
// With tp 8 a node has one rank of dp, and dp 128 has {2, 1}, {4, 2}, {8, 4}, {16, 8}, {32}, {64, 32}.
std::vector<ZeroGroup> zeroGroupsOf(const Decisions &mesh, const SpaceLimits &limits);

// Whether groups of so many ranks of dp split something, and hold all experts.
bool mayShare(const Decisions &decisions, int64_t ranks);

// Whether enumerateGroups has to look at all.
bool mayHaveGroups(const Decisions &decisions, const SpaceLimits &limits, const Pins &pins);

// Between two boundaries a group is a choice if it is the smallest in which parameters, gradients and states
// take no more than half of the memory, so that activations have room.
bool isGroupChoice(const ModelCost &model, const Decisions &decisions, const ZeroGroup &group,
                   const EstimateRequest &request);

// The decisions with ZeRO within each group that is a choice. With the optimizer on the host there is none: the fewer
// ranks share an update, the longer it is, and it is what takes time there. Nor is there of ZeRO-2 and 3 with a
// pipeline, whose every micro-batch they hold up on every stage.
std::vector<Decisions> enumerateGroups(const ModelCost &model, const Decisions &overAll,
                                       const SpaceLimits &limits, const Pins &pins,
                                       const EstimateRequest &request);

} // namespace dtc
