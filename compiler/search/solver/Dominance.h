// Removes values that another value of the node is never worse than.
#pragma once

#include "compiler/search/solver/WorkGraph.h"

namespace dtc::solver {

// Removes each value that another one dominates in costs, at every neighbour and in memory. Visits
// nodes in order until a limit on the work is reached, because nodes of many values take long.
void dropDominated(WorkGraph &graph);

} // namespace dtc::solver
