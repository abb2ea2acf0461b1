// Measures how often intervals and probabilities of compiler/price/uncertainty are right.
#include "bench/planner/Coverage.h"

#include <cmath>

namespace dtc::published {

Coverage coverageOf(const std::vector<const CaseResult *> &outcomes, const ErrorsOf &errorsOf) {
  Coverage coverage;
  double width = 0;
  for (const CaseResult *outcome : outcomes) {
    double seconds = outcome->item->seconds;
    if (seconds <= 0)
      continue;
    Uncertainty errors = errorsOf(outcome->key);
    double low = errors.stepLowSeconds(outcome->estimate.stepSeconds),
           high = errors.stepHighSeconds(outcome->estimate.stepSeconds);
    ++coverage.rows;
    coverage.below += seconds < low;
    coverage.above += seconds > high;
    width += std::log(high / low);
  }
  coverage.width = coverage.rows ? width / static_cast<double>(coverage.rows) : 0;
  return coverage;
}

std::vector<FitBin> fitBinsOf(const std::vector<const CaseResult *> &outcomes,
                              const ErrorsOf &errorsOf) {
  std::vector<FitBin> bins;
  for (double least : {0.0, 0.05, 0.2, 0.5, 0.8, 0.95})
    bins.push_back({least});
  for (const CaseResult *outcome : outcomes) {
    double probability =
        errorsOf(outcome->key)
            .fitProbability(outcome->estimate.peakBytes, outcome->item->memoryLimit);
    size_t bin = bins.size() - 1;
    while (probability < bins[bin].least)
      --bin;
    ++bins[bin].rows;
    bins[bin].ran += !outcome->item->ranOutOfMemory;
    bins[bin].predicted += probability;
  }
  for (FitBin &bin : bins)
    bin.predicted /= std::max<double>(1, static_cast<double>(bin.rows));
  return bins;
}

} // namespace dtc::published
