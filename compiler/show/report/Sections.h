// The parts of the page. Internal to this folder. Each returns HTML.
#pragma once

#include "compiler/search/planner/Planner.h"
#include "compiler/show/explain/PlanPipeline.h"
#include "compiler/show/report/Report.h"

namespace dtc::html {

// Draws the micro-batches that every stage works on, over time.
std::string timelineFigures(const Plan &plan, const StepSimulation &step);

// Memory of chosen stages over time, and of every stage at its peak, by kind. `limit` in bytes.
std::string memoryFigures(const Plan &plan, const StepSimulation *step, int64_t limit);

// All candidates by memory and step time.
std::string frontierFigure(const PlanResult &outcome, int64_t limit);

// Every axis of the mesh on a node and on the cluster.
std::string meshFigures(const Plan &plan, const Topology &topology);

// Draws the parts of the step's time, for the chosen plan and the runners-up.
std::string timeFigure(const PlanResult &outcome);

// Return the tables of what was chosen, the stages and their cut, the tensors, the runners-up, the
// recipes and the pins.
std::string choiceList(const Plan &plan, const Topology &topology);
// Returns the table of pipeline stages.
std::string stageTable(const Plan &plan);
// Returns the table of tensors and their placements.
std::string tensorTable(const Plan &plan);
// Returns the table of the chosen plan and the runners-up.
std::string candidateTable(const PlanResult &outcome);
// Returns the table of published recipes; "" without any.
std::string recipeTable(const Plan &plan);
// Returns the table of pins and their costs.
std::string pinTable(const Plan &plan);
// Returns the table of what was decided for the user, and the hint.
std::string decidedTable(const DecidedForUser &decided);

} // namespace dtc::html
