// Decides the numbers of nodes and devices of a system. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/Topology.h"

namespace dtc {

// Decides the numbers of nodes and devices. 0 takes the number of the description. Errors: numbers
// that the levels cannot be divided into.
Result<Topology> resolve(const SystemDescription &system, int64_t nodes, int64_t devices);

} // namespace dtc
