// Memory over time and at its peak. Internal to this folder. Returns HTML.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/show/simulate/PipelineSimulation.h"

#include <string>

namespace dtc::html {

// Memory of chosen stages over time, and of every stage at its peak, by kind. `limit` in bytes.
std::string memoryFigures(const Plan &plan, const StepSimulation *step, int64_t limit);

} // namespace dtc::html
