// The parts of the page. Internal to this folder. Each returns HTML.
#pragma once

#include "compiler/explain/PlanPipeline.h"
#include "compiler/planner/Planner.h"

namespace dtc::html {

// Which micro-batch every stage works on, over time.
std::string timelineFigures(const Plan &plan, const StepSimulation &step);

// Memory of chosen stages over time, and of every stage at its peak, by kind. `limit` in bytes.
std::string memoryFigures(const Plan &plan, const StepSimulation *step, int64_t limit);

// All candidates by memory and step time.
std::string frontierFigure(const PlanOutcome &outcome, int64_t limit);

// Every axis of the mesh on a node and on the cluster.
std::string meshFigures(const Plan &plan, const Topology &topology);

// Where the time of a step goes, for the chosen plan and the runners-up.
std::string timeFigure(const PlanOutcome &outcome);

// Tables of what was chosen, the stages and their cut, the tensors, the runners-up, recipes and
// pins.
std::string choiceList(const Plan &plan, const Topology &topology);
std::string stageTable(const Plan &plan);
std::string tensorTable(const Plan &plan);
std::string candidateTable(const PlanOutcome &outcome);
std::string recipeTable(const Plan &plan);
std::string pinTable(const Plan &plan);

} // namespace dtc::html
