// Tells how long each rank of a job works in a step, and for which rank the others wait.
#pragma once

#include "runtime/monitor/Progress.h"

#include <vector>

namespace dtc::rt {

// The work of all ranks. Values are means over the steps of about a second, up to two seconds ago.
struct RankLoads {
  std::vector<double> work; // seconds per step, by rank; empty if unknown
  int slowest = -1;         // -1 if unknown, or in a job of one rank
  double excess = 0;   // share of a step that the slowest rank works longer than the median rank
  Straggler straggler; // found by keepers
};

// Computes the loads from the work of each rank in steps of `seconds`. The result is empty if any
// value is 0, which means unknown.
// Example: work {2, 3, 2} of steps of 4 s: the slowest is 1, its excess 0.25.
RankLoads loadsOf(std::vector<double> work, double seconds);

// Returns on rank 0 what keepers have reported of the ranks, and an empty result without keepers.
RankLoads readLoads(const Progress &progress, int ranks, double seconds);

} // namespace dtc::rt
