// The seconds of a pipeline by its events alone: tasks, what they wait for, and one task at a time on
// a stage. For tests of compiler/pipeline and of what relies on it; of that only the problem's type,
// and the orders of schedules with split backward passes, which are the outcome of a search there, are used.
#pragma once

#include "compiler/pipeline/Schedule.h"

namespace dtc {

// From the first start to the last end; NaN where the stages come to a stop. GPipe, 1F1B and
// interleaved 1F1B take their tasks as their papers say.
// Example: 2 stages of 1 s forward and 2 s backward, 3 micro-batches of 1F1B: 3 x 3 + 3 = 12 s.
double simulatedSeconds(const PipelineProblem &problem);

// Fills in what chunks take to send: `seconds`, or where boundaries between stages differ the
// slowest that is crossed.
void addSendSeconds(PipelineProblem &problem, double seconds,
                    const std::vector<double> &byBoundary);

} // namespace dtc
