// What a plan says of the order of a step.
#pragma once

#include "compiler/plan/Decisions.h"
#include "passes/schedule/Passes.h"

namespace dtc {

// Where gradients do not travel beside the backward pass, they do so as a whole behind it. A plan that names no size of
// buckets has those of ScheduleOptions.
ScheduleOptions scheduleOptions(const Decisions &decisions);

} // namespace dtc
