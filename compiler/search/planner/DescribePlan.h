// Turns chosen decisions into a plan. Internal to this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/price/workload/ModelFacts.h"
#include "compiler/search/planner/Candidate.h"
#include "compiler/search/planner/PlanRequest.h"

namespace dtc {

// Returns the plan of the candidate without the ranks of stages, the placements of tensors and the
// report of the search.
Plan describePlan(const Candidate &candidate, const PlanRequest &request, const ModelFacts &facts);

// Sets the ranks of each stage, which are long lists on a large cluster.
void setRanks(Plan &plan, const Candidate &candidate, const Topology &topology);

// Moves the waits for transfers between stages from the bubble to the exposed communication.
// Simulates the pipeline; does nothing for a candidate whose step was not simulated.
void setTransfers(Plan &plan, const Candidate &candidate);

} // namespace dtc
