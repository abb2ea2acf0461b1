// The time line of a step. Internal to this folder. Returns HTML.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/show/simulate/PipelineSimulation.h"

#include <string>

namespace dtc::html {

// Draws the micro-batches that every stage works on, over time.
std::string timelineFigures(const Plan &plan, const StepSimulation &step);

} // namespace dtc::html
