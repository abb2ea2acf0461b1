// Measures the table "Figures to reach" of the planner.
#pragma once

#include "bench/planner/ChosenPlans.h"
#include "bench/planner/Report.h"

namespace dtc::published {

// A row of the table.
struct Figure {
  std::string what, measured, target;
  bool met = false;
};

// Returns the errors of rows that nothing is fitted on. Weak sources are counted, and listed with
// `namesSources`.
std::vector<Figure> comparisonFigures(const std::vector<const CaseResult *> &heldOut,
                                      bool namesSources = true);

// Returns the comparison of chosen and published plans.
Figure chosenFigure(const ChosenPlans &plans);

// Returns the errors of estimates against the static memory plans of programs that compile today,
// and the times of searches on large clusters. `root` is the folder of the repository, for its
// models/configs.
std::vector<Figure> planFigures(const std::string &root);

// Prints the table.
void printFigures(const std::vector<Figure> &figures, llvm::raw_ostream &out);

} // namespace dtc::published
