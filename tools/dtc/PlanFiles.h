// Reads plans from files, for the commands that explain them.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/describe/topology/Topology.h"
#include "compiler/support/Error.h"
#include "tools/dtc/Commands.h"
#include "tools/dtc/PlanningFlags.h"

namespace dtc {

// Reads the plan of a plan.json, or the one from which a .dte file was compiled. `doing`, such as
// "simulating", starts messages that have no such start. Errors: no such file, a damaged
// executable, a plan that planFromJson refuses.
Result<Plan> readPlan(const std::string &file, const std::string &doing);

// Returns the path of a file that a plan names as `path`, relative to the folder in which the plan
// was made. If `path` is not valid from here, it is tried from the folder of the plan `planFile`,
// and then from the folders above it. Returns `path` if no such file exists. Names of catalogues
// are not files and stay as they are.
std::string fileNamedBy(const std::string &planFile, const std::string &path);

// Sets the model and the sequence length of `flags` to those that the plan of `planFile` was made
// of. `doing` starts messages. Errors: the plan names no model, or one that is gone; `mend` says
// what to give instead.
Status takeModelOf(const Plan &plan, const std::string &planFile, const std::string &doing,
                   const std::string &mend, PlanningFlags &flags);

// Returns the topology that a plan was made for: the file that was given, which may have measured
// curves or be a topology of the user's, or else the name.
std::string topologyOf(const Plan &plan);

// Loads that topology. If its file is gone, loads the built-in one of its name, for uses that need
// no curves.
Result<Topology> loadTopologyOf(const Plan &plan, int64_t nodes);

} // namespace dtc
