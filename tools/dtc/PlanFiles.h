// Plans from files, for the commands that explain them.
#pragma once

#include "compiler/plan/Plan.h"
#include "compiler/support/Error.h"
#include "compiler/topology/Topology.h"

namespace dtc {

// The plan of a plan.json, or the one that a .dte file was compiled from. `doing` starts the
// message where there is none in it ("simulating"). Errors: no such file, a damaged executable, a
// plan that planFromJson does not take.
Result<Plan> readPlan(const std::string &file, const std::string &doing);

// Returns the path by which a file is reached that a plan names as `path`, relative to the folder in which the plan was
// made: as it is where that works from here, and else from the folder of the plan, `planFile`, or the nearest one above it.
// As it is where no such file is there. Names of catalogues are no files and stay.
std::string fileNamedBy(const std::string &planFile, const std::string &path);

// The topology that a plan was made for: the file that was given then, which may have measured curves
// or be no built-in one, and else the name.
std::string topologyOf(const Plan &plan);

// The same, or what has its name where that file is gone: for what needs no curves of it.
Result<Topology> loadTopologyOf(const Plan &plan, int64_t nodes);

} // namespace dtc
