// The parts of the time of a step. Internal to this folder. Returns HTML.
#pragma once

#include "compiler/search/planner/Planner.h"

#include <string>

namespace dtc::html {

// Draws the parts of the step's time, for the chosen plan and the runners-up.
std::string timeFigure(const PlanResult &planResult);

} // namespace dtc::html
