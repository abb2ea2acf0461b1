// The world of a job, which reports its calls to the monitor.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/monitor/Progress.h"

namespace dtc::rt {

// `inner` with each call in the flight recorder and in the place of the host. Groups that are split
// off are `inner`'s own. For the host's thread alone.
std::unique_ptr<Comm> watch(std::unique_ptr<Comm> inner, Progress &progress);

} // namespace dtc::rt
