// Turns the problem that presolve has rewritten into the flat form for the bound and the search.
#pragma once

#include "compiler/search/solver/Reduction.h"

namespace dtc::solver {

// Fills the network, kept and origin of `reduction` with what is left of `graph`. Its pieces must
// be tidy.
void flatten(const WorkGraph &graph, Reduction &reduction);

} // namespace dtc::solver
