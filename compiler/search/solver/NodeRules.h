// Presolve rules for single nodes: values without a partner, nodes without a choice, nodes that can
// be minimised out.
#pragma once

#include "compiler/search/solver/WorkGraph.h"

namespace dtc::solver {

// Removes values that are forbidden, or have no finite partner at an edge that changed. Returns
// true if values were removed; the node is then queued again.
bool dropUnsupported(WorkGraph &graph, int32_t node);

// Removes a node with one value, or with neither edges nor memory, and adds its cost to its
// neighbours or to the constant. Returns true if it was removed.
bool fixSingle(WorkGraph &graph, int32_t node);

// Removes a node without memory and with one or two neighbours. Its neighbours, or the edge between
// them, get the least cost for each of their values. Returns true if it was removed. It stays if
// that edge would be much larger than what it replaces.
bool minimiseOut(WorkGraph &graph, int32_t node);

} // namespace dtc::solver
