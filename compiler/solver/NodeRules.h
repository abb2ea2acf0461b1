// Presolve on single nodes: values without a partner, nodes without a choice, nodes that can be
// minimised out.
#pragma once

#include "compiler/solver/WorkGraph.h"

namespace dtc::solver {

// Values go that are forbidden or have no finite partner at some edge that changed. True where
// values went; the node is then queued again.
bool dropUnsupported(WorkGraph &graph, int32_t node);

// A node with one value, or with neither edges nor memory, goes: its cost, to its neighbours or the
// constant. True where it went.
bool fixSingle(WorkGraph &graph, int32_t node);

// A node without memory and with one or two neighbours goes: its neighbours, or the edge between
// them, take the least cost for each of their values. True where it went; not where that edge would
// be much larger than what it replaces.
bool minimiseOut(WorkGraph &graph, int32_t node);

} // namespace dtc::solver
