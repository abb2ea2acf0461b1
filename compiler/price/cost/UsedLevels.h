// The levels of links as one group of ranks uses them. Internal to this folder.
#pragma once

#include "compiler/price/cost/CollectiveConstants.h"
#include "compiler/price/cost/Cost.h"

namespace dtc {

// One level as a group uses it. Bandwidths are bytes/s that a device reaches.
struct UsedLevel {
  size_t index;      // in Topology::levels
  double ranks = 1;  // ranks of the group that this level joins
  double inside = 1; // ranks of the group within one group of the level below: each has a link of
                     // its own to this level
  double ring = 0;   // in a ring over the level, both ways together where links are of each way
  double spread = 0; // to each of the other devices of the level, equally
  double pair = 0;   // to one other
  double inNetwork = 0; // bandwidth through the switch; 0: it does not reduce
  double latency = 0;   // seconds per hop of a small message
  double lapHops = 0;   // hops of one lap among `ranks`
  HopClass hop = HopClass::Network;
  bool changesRails = false;      // ranks at different positions of their nodes talk to each other
  bool railsChangeInside = false; // and do so through the links inside the node
};

// The levels that join more than one rank of the group, inside out.
std::vector<UsedLevel> usedLevels(const RankGroup &group, const Topology &topology);

// Ranks of `group` that are joined between each boundary and the next: boundaries are devices
// within one group, ascending; the last one holds all.
llvm::SmallVector<int64_t> ranksWithin(const RankGroup &group, llvm::ArrayRef<int64_t> boundaries);

// Returns the number of joined ranks of a group at each level, inside out; their product is the
// size of the group. Example: {{16, 1}} on two nodes of 8 is {8, 2}; {{2, 8}} is {1, 2}.
llvm::SmallVector<int64_t> ranksPerLevel(const RankGroup &group, const Topology &topology);

} // namespace dtc
