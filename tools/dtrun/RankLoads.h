// How long each rank of a job works in a step, and which one the others wait for.
#pragma once

#include "runtime/monitor/Progress.h"

#include <vector>

namespace dtc::rt {

// A mean of the steps of about a second, some of which may be a second or two ago.
struct RankLoads {
  std::vector<double> work; // by rank, seconds of a step; empty where they are not known
  int slowest = -1;         // -1: not known, or there is one rank only
  double excess = 0;        // of a step: what the slowest one works longer than the median rank
  Straggler straggler;      // that keepers have found
};

// `work` by rank, of steps of `seconds`; nothing where one is 0, as it is not known.
// Example: work {2, 3, 2} of steps of 4 s: the slowest is 1, its excess 0.25.
RankLoads loadsOf(std::vector<double> work, double seconds);

// On rank 0, what keepers have told of the ranks; nothing where there are none.
RankLoads readLoads(const Progress &progress, int ranks, double seconds);

} // namespace dtc::rt
