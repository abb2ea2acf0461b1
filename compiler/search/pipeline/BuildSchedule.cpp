#include "compiler/search/pipeline/BuildSchedule.h"

#include "compiler/search/pipeline/ListScheduler.h"
#include "compiler/search/pipeline/Policies.h"
#include "compiler/search/pipeline/Timing.h"

using namespace dtc;

Result<PipelineSchedule> dtc::buildSchedule(const PipelineProblem &problem) {
  if (Status checked = checkSchedulable(problem); !checked)
    return checked.error();
  std::vector<SchedulePolicy> policies = policiesOf(problem);
  std::optional<PipelineSchedule> best;
  double seconds = 0;
  for (const SchedulePolicy &policy : policies) {
    std::optional<PipelineSchedule> found = listSchedule(problem, policy);
    if (!found)
      continue;
    if (policies.size() == 1)
      return std::move(*found);
    double makespan = timeSchedule(*found, problem)->makespan;
    if (best && makespan >= seconds * (1 - 1e-12))
      continue;
    best = std::move(found);
    seconds = makespan;
  }
  assert(best && "groups of one micro-batch, and sequences per chunk, never come to a stop");
  return std::move(*best);
}
