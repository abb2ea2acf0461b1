// Derives the options of a step and of its scheduling from a plan.
#include "compiler/decide/plan/ScheduleDecisions.h"

#include <limits>

namespace dtc {

ScheduleOptions scheduleOptions(const Decisions &decisions) {
  ScheduleOptions options;
  options.overlap = decisions.overlapGradients;
  if (!decisions.overlapGradients)
    options.bucketBytes = std::numeric_limits<int64_t>::max();
  else if (decisions.bucketBytes > 0)
    options.bucketBytes = decisions.bucketBytes;
  return options;
}

StepOptions stepOptions(const Plan &plan, const StepOptions &settings) {
  StepOptions step = settings;
  step.batch = plan.decisions.dp * plan.decisions.microBatch;
  step.microBatches = plan.decisions.numMicroBatches;
  step.ranks = plan.decisions.dp;
  step.optimizer = plan.trainedBy();
  step.precision = plan.precision;
  step.gradDtype = plan.origin.gradDtype;
  step.compress = plan.decisions.compress();
  step.offload = plan.decisions.offloadOptimizer;
  return step;
}

} // namespace dtc
