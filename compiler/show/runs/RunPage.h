// A run as one HTML page.
#pragma once

#include "compiler/show/runs/RunEvents.h"
#include "compiler/show/runs/RunLog.h"

namespace dtc {

// One self-contained page in the style of the plan's (compiler/show/report): loss, throughput,
// where the time of steps and of the job went, memory of the ranks, and events. It has no scripts
// and loads nothing. `name` is the run's name for people.
// Example: writeFileAtomically("run.html", runPage("logs", *run, eventsOf(*run)))
std::string runPage(const std::string &name, const RunLog &run,
                    const std::vector<RunEvent> &events);

} // namespace dtc
