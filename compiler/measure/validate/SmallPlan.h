// The kinds of parallelism of a plan, on as many processes as one machine runs.
#pragma once

#include "compiler/decide/plan/Plan.h"

namespace dtc {

// A plan shrunk to a small model and few ranks.
struct SmallPlan {
  Decisions decisions;
  int64_t globalBatch = 1;

  // For --fix and PlanRequest::fixed.
  std::map<std::string, std::string> pins() const;
};

// Every axis that the plan splits over is 2 ranks wide, then wider from tensor parallelism on while
// `ranks` allow; ZeRO, sequence parallelism, schedule, virtual stages, recomputation (the most that
// any layer does) and offload are the plan's. As many micro-batches as fill the pipeline twice, at
// most the plan's, of at most 2 samples.
// Errors: more kinds of parallelism than `ranks` can show, with the number that can.
// Example: dp 64 tp 8 pp 16 on 8 ranks is dp 2 tp 2 pp 2.
Result<SmallPlan> shrinkPlan(const Plan &plan, int64_t ranks);

} // namespace dtc
