// The candidates by memory and time. Internal to this folder. Returns HTML.
#pragma once

#include "compiler/search/planner/Planner.h"

#include <string>

namespace dtc::html {

// All candidates by memory and step time.
std::string frontierFigure(const PlanResult &planResult, int64_t limit);

} // namespace dtc::html
