// Compares published plans, which were made by people, with the plans that the planner chooses.
#pragma once

#include "bench/planner/Evaluate.h"

namespace dtc::published {

// Results of comparing published cases with the plan that the search finds for the same model,
// devices, batch and software. The same model costs both.
struct ChosenPlans {
  int64_t cases = 0; // published plans that fit by the model; others have no time to compare with
  int64_t tooLarge = 0;       // published plans that do not fit by the model
  int64_t missed = 0;         // published plans that are faster than the one that is found
  int64_t cutShort = 0;       // searches that the clock ended
  std::vector<double> faster; // published seconds over found seconds of each of `cases`, sorted
};

// Searches a plan for each case and compares. Configurations of one model with one batch on the
// same devices share one search of at most `seconds`. A case whose search finds nothing counts as
// missed, a hundred times as slow.
ChosenPlans comparePlans(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                         CellCache &cache, double seconds);

} // namespace dtc::published
