// Removes edges that are not needed, and nodes that a neighbour determines.
#pragma once

#include "compiler/search/solver/WorkGraph.h"

namespace dtc::solver {

// Moves an edge with table[x][y] = f(x) + g(y) everywhere into the costs of its ends. Returns true
// if it did.
bool foldSeparable(WorkGraph &graph, int32_t edge);

// If each value of one end allows only one value of the other end, removes that other end and moves
// its costs, memory and edges. If both ends are determined, it removes the one with less to move.
// Returns true if a node was removed.
bool mergeFunctional(WorkGraph &graph, int32_t edge);

} // namespace dtc::solver
