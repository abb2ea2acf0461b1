// What is lost by running the configuration that the planner would pick of those that were measured.
#pragma once

#include "bench/planner/Statistics.h"

namespace dtc::published {

// Of groups of two rows or more of one model, batch and hardware in one source that differ in their
// time. The pick of a group is the fastest by the estimates of the rows that are said to fit; where
// none is, the one that is estimated to need least memory.
struct Regret {
  std::vector<double> lost;   // of each group: seconds of the pick over those of the best row - 1
  int64_t ranOutOfMemory = 0; // picks that did: the next one counts
  int64_t nothingFits = 0;    // groups of which no row is said to fit
  double median() const;
  double p90() const;
};
Regret regretOf(const std::vector<const Outcome *> &outcomes, const Fits &fits = isLikelyToFit);

} // namespace dtc::published
