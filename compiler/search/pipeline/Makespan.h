// Seconds of a step under a schedule.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

#include <optional>

namespace dtc {

// Seconds of the step in closed form, where there is one: GPipe of any chunks, and 1F1B and
// Interleaved (microBatches a multiple of stages) of equal chunks with free transfers, without a
// memory cap. Equal to timeSchedule's makespan.
std::optional<double> closedFormMakespan(const PipelineProblem &problem);

// The makespan of buildSchedule's order, without the order where that can be avoided: in closed
// form, or by simulating fewer micro-batches until all stages repeat themselves, and skipping the
// repetitions. The same result up to rounding (1e-9 relative); the same errors.
Result<double> pipelineMakespan(const PipelineProblem &problem);

} // namespace dtc
