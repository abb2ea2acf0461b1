// Simulates the seconds of a pipeline by its events alone: tasks, their dependences, and one task
// at a time on a stage. It tests compiler/search/pipeline and its users. It shares with
// compiler/search/pipeline only the problem's type, and the orders of schedules with split backward
// passes, which a search finds there.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

namespace dtc {

// Returns the seconds from the first start to the last end; NaN if the stages deadlock. GPipe, 1F1B
// and interleaved 1F1B take their tasks as their papers say. Example: 2 stages of 1 s forward and 2
// s backward, 3 micro-batches of 1F1B: 3 x 3 + 3 = 12 s.
double simulatedSeconds(const PipelineProblem &problem);

// Sets the times that chunks take to send: `seconds` or, if boundaries between stages differ, the
// slowest that is crossed.
void addSendSeconds(PipelineProblem &problem, double seconds,
                    const std::vector<double> &byBoundary);

} // namespace dtc
