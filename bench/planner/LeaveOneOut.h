// Measures the errors of constants on a source that they were fitted without.
#pragma once

#include "bench/planner/Fit.h"
#include "bench/planner/Statistics.h"

namespace dtc::published {

// Returns the tables' constants, except those that move rows of the family: these are set to their
// values without a fit (fittedConstants) and fitted on the rows of other families that `uses` holds
// for.
Knobs fittedWithout(const std::string &family, const std::vector<std::unique_ptr<Case>> &cases,
                    const Knobs &tables, int rounds, const std::function<bool(const Case &)> &uses);

// Prints the errors of each family of sources with constants that were fitted without it, beside
// those of the tables' constants. The constants that move the family's rows are set to their values
// without a fit (fittedConstants) and fitted on the rows of all other families. Structure of the
// model and documented constants stay as they are.
void printLeaveOneOut(const std::vector<std::unique_ptr<Case>> &cases, const Knobs &knobs,
                      int rounds, llvm::raw_ostream &out);

} // namespace dtc::published
