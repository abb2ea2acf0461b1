// Derives the options of a step and of its scheduling from a plan.
#pragma once

#include "compiler/decide/decisions/Decisions.h"
#include "compiler/decide/plan/Plan.h"
#include "passes/Pipelines.h"
#include "passes/schedule/Passes.h"

namespace dtc {

// Returns the options for a plan's decisions. Gradients that do not overlap with the backward pass
// are reduced as a whole after it; a plan without bucket size uses that of ScheduleOptions.
ScheduleOptions scheduleOptions(const Decisions &decisions);

// Returns `settings` with what the plan decides of a step: batch, micro-batches, ranks, precision,
// optimizer, and where its state is.
StepOptions stepOptions(const Plan &plan, const StepOptions &settings = {});

} // namespace dtc
