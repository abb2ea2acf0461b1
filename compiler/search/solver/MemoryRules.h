// Removes values that cannot fit into memory, and points of time that need no limit.
#pragma once

#include "compiler/search/solver/WorkGraph.h"

namespace dtc::solver {

// Removes values that exceed the limit even if all other nodes use their least. The graph is
// infeasible if the least usages alone exceed it. Pieces must be tidy.
void dropValuesThatOverrun(WorkGraph &graph);

// Removes points of time that cannot be the only one over the limit. Pieces must be tidy.
void dropSlackTimes(WorkGraph &graph);

} // namespace dtc::solver
