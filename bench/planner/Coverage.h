// Whether intervals and probabilities of compiler/uncertainty are as often right as they say.
#pragma once

#include "bench/planner/Statistics.h"
#include "compiler/uncertainty/Uncertainty.h"

namespace dtc::published {

// Of measured steps, against the 90 % interval of their estimate.
struct Coverage {
  int64_t rows = 0, below = 0, above = 0;
  double width = 0; // mean of log(high / low)
  double inside() const {
    return rows ? static_cast<double>(rows - below - above) / static_cast<double>(rows) : 0;
  }
};

// Of rows whose fit_probability is from `least` on and below the next bin's.
struct FitBin {
  double least = 0;
  int64_t rows = 0, ran = 0;
  double predicted = 0; // mean probability
};

using ErrorsOf = std::function<Uncertainty(const ErrorClass &)>;
Coverage coverageOf(const std::vector<const Outcome *> &outcomes, const ErrorsOf &errorsOf);
std::vector<FitBin> fitBinsOf(const std::vector<const Outcome *> &outcomes,
                              const ErrorsOf &errorsOf);

} // namespace dtc::published
