// Turns chosen decisions into a plan. Internal to this folder.
#pragma once

#include "compiler/planner/JointSearch.h"
#include "compiler/planner/Planner.h"

namespace dtc {

// Everything but the placements of tensors and the search.
Plan describePlan(const Candidate &candidate, const PlanRequest &request, const ModelFacts &facts);

// Tells the waits for transfers between stages, which are part of the bubble otherwise. Takes a
// simulation of the pipeline.
void tellTransfers(Plan &plan, const Candidate &candidate);

} // namespace dtc
