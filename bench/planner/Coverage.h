// Measures how often intervals and probabilities of compiler/price/uncertainty are right.
#pragma once

#include "bench/planner/Statistics.h"
#include "compiler/price/uncertainty/Uncertainty.h"

namespace dtc::published {

// Counts of measured steps inside, below and above the 90 % interval of their estimate.
struct Coverage {
  int64_t rows = 0, below = 0, above = 0;
  double width = 0; // mean of log(high / low)
  // Returns the share of steps inside; 0 if there are none.
  double inside() const {
    return rows ? static_cast<double>(rows - below - above) / static_cast<double>(rows) : 0;
  }
};

// Counts of rows whose fit_probability is between `least` and the next bin's.
struct FitBin {
  double least = 0;
  int64_t rows = 0, ran = 0;
  double predicted = 0; // mean probability
};

using ErrorsOf = std::function<Uncertainty(const ErrorClass &)>;
// Returns the coverage of rows with a published time.
Coverage coverageOf(const std::vector<const CaseResult *> &caseResults, const ErrorsOf &errorsOf);
// Returns the bins of fit probability, with the rows that ran.
std::vector<FitBin> fitBinsOf(const std::vector<const CaseResult *> &caseResults,
                              const ErrorsOf &errorsOf);

} // namespace dtc::published
