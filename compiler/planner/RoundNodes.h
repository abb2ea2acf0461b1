// Parts of a system that are easier to divide than all of it. Internal to this folder.
#pragma once

#include "compiler/planner/Pins.h"
#include "compiler/topology/Topology.h"

namespace dtc {

// Whether no prime factor is above 7.
bool isRound(int64_t count);

// The largest round numbers of nodes below all of them, at most `most`, the largest first. Empty
// where the number of all is round, where nodes differ, or where a pin says into what devices are
// divided: it is then the pin that can't be met. Example: of 127 nodes 126, 125, 120, 112, ...
std::vector<int64_t> roundNodeCounts(const Topology &topology, const Pins &pins, size_t most);

} // namespace dtc
