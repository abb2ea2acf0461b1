// Presolve on edges that need not be there, and on nodes that follow from a neighbour.
#pragma once

#include "compiler/solver/WorkGraph.h"

namespace dtc::solver {

// An edge with table[x][y] = f(x) + g(y) everywhere goes into the costs of its ends. True where it
// went.
bool foldSeparable(WorkGraph &graph, int32_t edge);

// Where the value of one end allows one value of the other end only, that other end goes: its
// costs, memory and edges are taken over. Where both ends follow, the one with less to move goes.
// True where a node went.
bool mergeFunctional(WorkGraph &graph, int32_t edge);

} // namespace dtc::solver
