// The result of costing a step. Internal to this folder.
#pragma once

#include "compiler/search/planner/Candidate.h"
#include "compiler/search/planner/SearchOptions.h"

namespace dtc {

// Bounds from a ZeRO-1 step over all of dp. ZeRO-1 in groups keeps more copies of states; if all
// stages still fit with them in the cut of that step, no step in groups takes less than `least`
// seconds.
struct SameCut {
  double least = 0;
  double mostTimesMore = -1; // Times more states that every stage can hold; below 0: unknown.
};

// The result of costing a step, with bounds of other steps that follow from it; in seconds.
struct Costed {
  Candidate candidate;
  bool counts = false;      // it fits, or memory is ignored
  double leastWithHost = 0; // lower bound with the optimizer on the host
  double leastOfGroups = 0; // lower bound with ZeRO in groups
  // Bounds under any recomputation of the step in groups, and of the step itself; 0: unknown.
  double leastOfGroupsWithoutRecomputation = 0, leastWithoutRecomputation = 0;
  SameCut sameCut; // with ZeRO in groups
};

// Costs a step, as the candidate of this number.
Costed costStep(const ModelCost &model, const Decisions &decisions, const EstimateRequest &request,
                const SearchOptions &options, int64_t number);

} // namespace dtc
