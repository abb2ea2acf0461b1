// Statistics of errors of estimates against published measurements.
#pragma once

#include "bench/planner/Evaluate.h"

#include <functional>

namespace dtc::published {

// Returns a quantile, linear between ranks; 0 of none.
double quantileOf(const std::vector<double> &sorted, double share);

// Returns a key that is equal for rows that differ in their plan alone: of one source, model,
// cluster and batch.
std::string comparableKey(const CaseResult &caseResult);

// Errors of one figure over rows.
struct Errors {
  size_t rows = 0;
  double median = 0, p90 = 0; // of |estimate / published - 1|
  double bias = 0;            // median of estimate / published - 1
};
// Returns the errors of ratios estimate / published.
Errors errorsOf(std::vector<double> ratios);

// The order of configurations of one model on the same devices with the same batch, in one source.
struct Order {
  int64_t groups = 0, pairs = 0, concordant = 0, discordant = 0;
  // Returns Kendall's tau; 0 if there are no pairs.
  double tau() const {
    return pairs ? static_cast<double>(concordant - discordant) / static_cast<double>(pairs) : 0;
  }
};
// Returns the order over all groups of comparable rows.
Order orderOf(const std::vector<const CaseResult *> &caseResults);

// A predicate that predicts if a row fits.
using Fits = std::function<bool(const CaseResult &)>;
// Returns true if the row fits at least as probably as not, by the estimate and the errors of its
// class.
bool isLikelyToFit(const CaseResult &caseResult);
// Returns true if the row fits by the estimate alone.
bool isEstimatedToFit(const CaseResult &caseResult);

// Counts of rows that ran or ran out of memory, and of those among them that are predicted to fit.
struct Feasibility {
  int64_t ran = 0, ranFits = 0, failed = 0, failedFits = 0;
  // Returns the share of right predictions; 0 if there are no rows.
  double right() const {
    return ran + failed ? static_cast<double>(ranFits + failed - failedFits) /
                              static_cast<double>(ran + failed)
                        : 0;
  }
  // Returns the share of rows that ran out of memory among which a fit was predicted.
  double wrongFits() const {
    return failed ? static_cast<double>(failedFits) / static_cast<double>(failed) : 0;
  }
};
// Returns the counts over all rows.
Feasibility feasibilityOf(const std::vector<const CaseResult *> &caseResults,
                          const Fits &fits = isLikelyToFit);

// All statistics of a set of rows.
struct Summary {
  Errors time, memory;
  Order order;
  Feasibility feasibility;
};
// Returns the statistics of the rows.
Summary summaryOf(const std::vector<const CaseResult *> &caseResults);

// Rows by a key, in order of keys.
using Groups = std::map<std::string, std::vector<const CaseResult *>>;
// Groups rows by their key.
Groups groupBy(const std::vector<const CaseResult *> &caseResults,
               const std::function<std::string(const CaseResult &)> &key);

} // namespace dtc::published
