// The table "Figures to reach" of the planner, as measured.
#pragma once

#include "bench/planner/ChosenPlans.h"
#include "bench/planner/Report.h"

namespace dtc::published {

struct Figure {
  std::string what, measured, target;
  bool met = false;
};

// Errors of rows that nothing is fitted on. Sources that are weak are counted, and named if wanted.
std::vector<Figure> comparisonFigures(const std::vector<const Outcome *> &heldOut,
                                      bool namesSources = true);

// The plans that are found for published cases.
Figure chosenFigure(const ChosenPlans &plans);

// Estimates against the static memory plans of programs that compile today, and searches on large
// clusters; `root` is the folder of the repository, for its models/configs.
std::vector<Figure> planFigures(const std::string &root);

void printFigures(const std::vector<Figure> &figures, llvm::raw_ostream &out);

} // namespace dtc::published
