// Chooses the plan that trains fastest and fits.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/price/memory/StaticMemory.h"
#include "compiler/search/planner/PlanRequest.h"
#include "compiler/support/Error.h"

#include <optional>
#include <vector>

namespace dtc {

// The chosen plan, and alternatives.
struct PlanResult {
  Plan best;
  std::vector<Plan> others; // sorted by predicted step time, the fastest first
  ScheduledStep scheduled;  // of `best`, with the settings of the request; none if it was not kept
};

// Returns the plan with the least expected step time that fits. Searches meshes and their mapping
// onto the links, micro-batches, ZeRO stages, schedules, virtual stages and recomputation, by a
// cost model that reads the work of each block off the partitioned program. The result carries a
// lower bound on the step time of every other choice, by the same model. Nodes may stay idle if a
// plan on fewer of them is faster (FewerNodes). A plan that can be compiled carries the compiler's
// own static memory plan.
// If nothing fits, `leastMemory` is set to the plan that needs the smallest memory.
// Errors: a --fix that does not exist, can't divide, or leaves no plan that fits. Each names the
// constraint and the nearest feasible choice.
Result<PlanResult> planModel(const PlanRequest &request,
                             std::optional<Plan> *leastMemory = nullptr);

} // namespace dtc
