// From the problem that presolve rewrote to the flat form that the bound and the search run on.
#pragma once

#include "compiler/solver/Presolve.h"

namespace dtc::solver {

// Fills the network, kept and origin of reduction with what is left of graph. Pieces are tidy.
void flatten(const WorkGraph &graph, Reduction &reduction);

} // namespace dtc::solver
