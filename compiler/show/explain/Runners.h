// The candidates beside the chosen plan, and how they differ from it.
#pragma once

#include "compiler/search/planner/Planner.h"

namespace dtc {

// The fastest others, at most `most`. What differs from one before it in nothing but the order of
// axes, and by less than a thousandth of the step, is left out, and what is the same in all that a
// plan says.
std::vector<const Plan *> runnersUp(const PlanResult &planResult, size_t most);

// Others that need less memory than the plan and than all that are faster, by 1 % of the plan's at
// least, within `slower` of its step (0.25: a quarter), the fastest first. Example: what the time
// of a step is for each GiB saved.
std::vector<const Plan *> plansWithLessMemory(const PlanResult &planResult, double slower,
                                              size_t most);

// Returns labels that distinguish each of `others` from `plan` and from each other: the settings
// that differ from `plan`, "sp=1, recompute selective"; if another plan has the same, also the
// fewest details that differ: "recompute mixed, full in 3+2*1 layers". No two plans from runnersUp
// or plansWithLessMemory get the same label.
std::vector<std::string> labelsOf(const Plan &plan, llvm::ArrayRef<const Plan *> others);

// Returns at most two parts of the step on which `other` spends more time than `plan`, the largest
// difference first: "bubble +1.1 s". For a faster plan, returns what it has beyond `plan`: "faster,
// with pipeline parallelism".
std::string losesOn(const Plan &plan, const Plan &other);

// The same, and the probability that `other` fits where that is less: "bubble +1.1 s, fits with
// 83.9 %".
std::string whyNot(const Plan &plan, const Plan &other);

} // namespace dtc
