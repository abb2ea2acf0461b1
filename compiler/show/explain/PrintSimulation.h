// Prints the simulated step of a plan.
#pragma once

#include "compiler/show/explain/PlanPipeline.h"

#include <string>

namespace dtc {

// Text for people: both steps, and a row per stage with its times, bubble, what it keeps and how
// busy its links are.
void printSimulation(llvm::raw_ostream &out, const Plan &plan, const SimulatedStep &step);

// {"schema": "dtc.simulation/1", "step_time_s", "predicted_step_time_s", ..., "stages": [...],
// "links": [...], "critical_path": [...]}
std::string simulationToJson(const Plan &plan, const SimulatedStep &step);

} // namespace dtc
