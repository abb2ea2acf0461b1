// Presolve on memory: values that can't fit, and points of time that need no limit.
#pragma once

#include "compiler/solver/WorkGraph.h"

namespace dtc::solver {

// Values go that overrun the limit even where all other nodes use their least; graph is infeasible
// where those alone do. Pieces are tidy.
void dropValuesThatOverrun(WorkGraph &graph);

// Points of time go that can't be the only one to overrun. Pieces are tidy.
void dropSlackTimes(WorkGraph &graph);

} // namespace dtc::solver
