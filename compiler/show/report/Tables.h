// Tables of the page. Internal to this folder. Returns HTML.
#pragma once

#include "compiler/search/planner/Planner.h"
#include "compiler/show/report/DecidedForUser.h"

#include <string>

namespace dtc::html {

// Returns the list of what was chosen.
std::string choiceList(const Plan &plan, const Topology &topology);
// Returns the table of pipeline stages.
std::string stageTable(const Plan &plan);
// Returns the table of tensors and their placements.
std::string tensorTable(const Plan &plan);
// Returns the table of the chosen plan and the runners-up.
std::string candidateTable(const PlanResult &planResult);
// Returns the table of published recipes; "" without any.
std::string recipeTable(const Plan &plan);
// Returns the table of pins and their costs.
std::string pinTable(const Plan &plan);
// Returns the table of what was decided for the user, and the hint.
std::string decidedTable(const DecidedForUser &decided);

} // namespace dtc::html
