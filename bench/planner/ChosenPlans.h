// What the planner would have chosen where a published run was planned by people.
#pragma once

#include "bench/planner/Evaluate.h"

namespace dtc::published {

// Published cases against the plan that the search finds for the same model, devices, batch and
// software, both costed by the same model.
struct ChosenPlans {
  int64_t cases = 0;          // whose published plan fits by the model; others have no time to beat
  int64_t tooLarge = 0;       // whose published plan does not fit by the model
  int64_t missed = 0;         // where the published plan is faster than the one that is found
  int64_t cutShort = 0;       // searches that the clock ended
  std::vector<double> faster; // published seconds over those found, of each of `cases`, sorted
};

// Configurations of one model with one batch on the same devices are one search of at most
// `seconds`. A case whose search finds nothing counts as missed, a hundred times as slow.
ChosenPlans comparePlans(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                         CellCache &cache, double seconds);

} // namespace dtc::published
