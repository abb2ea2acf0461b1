// Derives the options of scheduling from a plan.
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

} // namespace dtc
