// The plan for people.
#pragma once

#include "compiler/search/planner/Planner.h"

namespace dtc {

// The choice, where the time of a step goes, memory by kind and stage, what each runner-up loses
// on, what less memory would cost, what each pin costs, and what binds.
std::string planToText(const PlanResult &planResult, const Topology &topology);

} // namespace dtc
