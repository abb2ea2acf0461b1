// Derives the options of scheduling from a plan.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "passes/schedule/Passes.h"

namespace dtc {

// Returns the options for a plan's decisions. Gradients that do not overlap with the backward pass
// are reduced as a whole after it; a plan without bucket size uses that of ScheduleOptions.
ScheduleOptions scheduleOptions(const Decisions &decisions);

} // namespace dtc
