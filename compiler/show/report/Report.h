// The plan as one HTML page.
#pragma once

#include "compiler/search/planner/Planner.h"
#include "compiler/show/report/DecidedForUser.h"

namespace dtc {

// One self-contained page: no network, no scripts, light and dark. The choice with its certificate,
// the pipeline's time line, memory over time, the candidates by time and memory, the mesh on the
// topology, placements, and where the time of a step goes. Names out of files are escaped. What
// can't be drawn, such as the time line of a plan without times, says why in its place. The limit
// is in bytes; without one it is the device's memory. `command` is what makes the plan again on a
// command line, or empty. `decided` is shown before it.
// Example: `writeFileAtomically("plan.html", reportPage(outcome, request.topology))`
std::string reportPage(const PlanResult &planResult, const Topology &topology,
                       std::optional<int64_t> memoryLimit = std::nullopt,
                       const std::string &command = "", const DecidedForUser &decided = {});

} // namespace dtc
