// Measures the loss of running the configuration that the planner would pick among measured ones.
#pragma once

#include "bench/planner/Statistics.h"

namespace dtc::published {

// Losses over groups of two rows or more of one model, batch and hardware in one source that differ
// in their time. The pick of a group is the fastest by the estimates of the rows that are predicted
// to fit; if there is none, it is the row with the smallest estimated memory.
struct Regret {
  // of each group: seconds of the pick over those of the best row, minus 1
  std::vector<double> lost;
  int64_t ranOutOfMemory = 0; // picks that ran out of memory; the next one counts
  int64_t nothingFits = 0;    // groups without a row that is predicted to fit
  // Returns the median loss; 0 of none.
  double median() const;
  // Returns the loss that nine in ten groups do not exceed; 0 of none.
  double p90() const;
};
// Returns the losses of all groups.
Regret regretOf(const std::vector<const CaseResult *> &caseResults,
                const Fits &fits = isLikelyToFit);

} // namespace dtc::published
