// What the planner would have chosen where a published run was planned by people.
#pragma once

#include "bench/planner/Evaluate.h"

namespace dtc::published {

// Published cases against the plan that the search finds for the same model, devices, batch and
// software, both costed by the same model.
struct ChosenPlans {
  int64_t cases = 0;          // whose published plan fits by the model; others have no time to beat
  int64_t tooLarge = 0;       // whose published plan does not fit by the model
  int64_t slower = 0;         // where the chosen plan is slower than the published one
  int64_t cutShort = 0;       // searches that the clock ended
  std::vector<double> faster; // published seconds over chosen seconds, of each of `cases`
};

// Configurations of one model with one batch on the same devices are one search of at most
// `seconds`. The published plans are points of the space that is searched, so a search that misses
// one that is faster takes it.
ChosenPlans comparePlans(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                         CellCache &cache, double seconds);

} // namespace dtc::published
