// Turns chosen decisions into a plan. Internal to this folder.
#pragma once

#include "compiler/planner/JointSearch.h"
#include "compiler/planner/Planner.h"

namespace dtc {

// Returns the decisions of the plan that the candidate is: what layers do, of what they may.
Decisions decisionsOf(const Candidate &candidate);

// Everything but the ranks of stages, the placements of tensors and the search.
Plan describePlan(const Candidate &candidate, const PlanRequest &request, const ModelFacts &facts);

// Tells which ranks each stage is on: long lists on a large cluster.
void tellRanks(Plan &plan, const Candidate &candidate, const Topology &topology);

// Tells the waits for transfers between stages, which are part of the bubble otherwise. Takes a
// simulation of the pipeline.
void tellTransfers(Plan &plan, const Candidate &candidate);

} // namespace dtc
