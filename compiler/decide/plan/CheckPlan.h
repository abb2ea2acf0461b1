// Checks a plan that was read from a file, which people may have edited.
#pragma once

#include "compiler/decide/plan/Plan.h"

#include <optional>

namespace dtc {

// A key of the plan's JSON, and what is wrong with it: the value found and the value wanted.
struct PlanMistake {
  std::string key, what;
};

// Returns the number of layers in all chunks of a stage.
int64_t layersOf(const PlanStage &stage);

// The first thing of `plan` that is out of range or contradicts another; none where whoever reads
// the plan can rely on its numbers. Whether it is of some model or topology is not asked here.
// Example: pp 3 on 8 devices gives {"mesh", "is dp 1 x tp 2 x pp 3 x cp 1, wanted the 8 devices"}.
std::optional<PlanMistake> findMistake(const Plan &plan);

} // namespace dtc
