// Measures how often intervals and probabilities of compiler/price/uncertainty are right.
#include "bench/planner/Coverage.h"

#include <cmath>

namespace dtc::published {

Coverage coverageOf(const std::vector<const CaseResult *> &caseResults, const ErrorsOf &errorsOf) {
  Coverage coverage;
  double width = 0;
  for (const CaseResult *caseResult : caseResults) {
    double seconds = caseResult->item->seconds;
    if (seconds <= 0)
      continue;
    Uncertainty errors = errorsOf(caseResult->key);
    double low = errors.stepLowSeconds(caseResult->estimate.stepSeconds),
           high = errors.stepHighSeconds(caseResult->estimate.stepSeconds);
    ++coverage.rows;
    coverage.below += seconds < low;
    coverage.above += seconds > high;
    width += std::log(high / low);
  }
  coverage.width = coverage.rows ? width / static_cast<double>(coverage.rows) : 0;
  return coverage;
}

std::vector<FitBin> fitBinsOf(const std::vector<const CaseResult *> &caseResults,
                              const ErrorsOf &errorsOf) {
  std::vector<FitBin> bins;
  for (double least : {0.0, 0.05, 0.2, 0.5, 0.8, 0.95})
    bins.push_back({least});
  for (const CaseResult *caseResult : caseResults) {
    double probability =
        errorsOf(caseResult->key)
            .fitProbability(caseResult->estimate.peakBytes, caseResult->item->memoryLimit);
    size_t bin = bins.size() - 1;
    while (probability < bins[bin].least)
      --bin;
    ++bins[bin].rows;
    bins[bin].ran += !caseResult->item->ranOutOfMemory;
    bins[bin].predicted += probability;
  }
  for (FitBin &bin : bins)
    bin.predicted /= std::max<double>(1, static_cast<double>(bin.rows));
  return bins;
}

} // namespace dtc::published
