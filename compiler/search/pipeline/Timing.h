// The times of a schedule.
#pragma once

#include "compiler/search/pipeline/Schedule.h"

#include <vector>

namespace dtc {

// Seconds since the start of the step.
struct TaskTime {
  double start = 0, end = 0;
  double ready = 0; // when its last input was there: it waited for its stage from then to `start`
};

// The times and the memory peaks of one stage, in seconds and bytes.
struct StageTiming {
  double busySeconds = 0;
  double firstStart = 0, lastEnd = 0;
  int64_t peakActivations = 0; // chunk activations between the start of F and the end of B
  int64_t peakPending = 0;     // the same with stashes: between the start of F and the end of W
  int64_t peakBytes = 0;
  // Idle seconds between its first and its last task: what a zero-bubble schedule brings to zero.
  double innerIdleSeconds() const { return lastEnd - firstStart - busySeconds; }
};

// The simulated times of a schedule.
struct PipelineTiming {
  double makespan = 0;       // seconds from the first start to the last end
  double bubbleFraction = 0; // idle share of stages x makespan
  std::vector<StageTiming> stages;
  std::vector<std::vector<TaskTime>> tasks; // like PipelineSchedule::order
};

// Runs every stage's order as early as its inputs allow, each receive blocking. Linear in the
// number of tasks. Does not look at the memory cap. Errors: a task that is missing, there twice or
// on the wrong stage; a deadlock, with the stage and the task that waits for ever.
Result<PipelineTiming> timeSchedule(const PipelineSchedule &schedule,
                                    const PipelineProblem &problem);

} // namespace dtc
