// The mesh on the devices. Internal to this folder. Returns HTML.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/describe/topology/Topology.h"

#include <string>

namespace dtc::html {

// Every axis of the mesh on a node and on the cluster.
std::string meshFigures(const Plan &plan, const Topology &topology);

} // namespace dtc::html
