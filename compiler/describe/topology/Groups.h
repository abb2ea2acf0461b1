// Groups of devices with equal figures. Internal to this folder.
#pragma once

#include "compiler/describe/topology/Description.h"
#include "compiler/describe/topology/Topology.h"

namespace dtc {

// Fills in the groups of a homogeneous topology, and lowers its levels to its slow links.
void addGroups(const SystemDescription &system, Topology &topology);

} // namespace dtc
