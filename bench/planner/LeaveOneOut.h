// How well constants do on a source that they were fitted without.
#pragma once

#include "bench/planner/Fit.h"
#include "bench/planner/Statistics.h"

namespace dtc::published {

// The tables' constants, but those that move rows of the family: these are set to what they would be
// without a fit (fittedConstants) and fitted on the rows of other families that `uses` holds for.
Knobs fittedWithout(const std::string &family, const std::vector<std::unique_ptr<Case>> &cases,
                    const Knobs &tables, int rounds, const std::function<bool(const Case &)> &uses);

// For each family of sources: the constants that move its rows are set to what they would be
// without a fit (fittedConstants), fitted on the rows of all other families, and the family's rows
// are estimated with them. Structure of the model and documented constants stay as they are.
// Prints errors by family, beside those of the tables' constants.
void printLeaveOneOut(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                      int rounds, llvm::raw_ostream &out);

} // namespace dtc::published
