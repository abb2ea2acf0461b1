// Statistics of errors of estimates against published measurements.
#include "bench/planner/Statistics.h"

#include "compiler/price/uncertainty/Uncertainty.h"

#include <algorithm>
#include <cmath>

namespace dtc::published {

double quantileOf(const std::vector<double> &sorted, double share) {
  if (sorted.empty())
    return 0;
  double at = share * static_cast<double>(sorted.size() - 1);
  size_t below = static_cast<size_t>(at);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::string comparableKey(const CaseResult &caseResult) {
  const Row &row = *caseResult.item->row;
  std::string key;
  for (const char *column : {"source", "model", "n_layers", "vocab", "seq_len", "gpu", "n_gpus",
                             "precision", "global_batch"})
    key += row.text(column).str() + "|";
  return key;
}

Errors errorsOf(std::vector<double> ratios) {
  Errors errors;
  errors.rows = ratios.size();
  std::vector<double> sizes;
  for (double &ratio : ratios) {
    ratio -= 1;
    sizes.push_back(std::abs(ratio));
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(sizes.begin(), sizes.end());
  errors.median = quantileOf(sizes, 0.5);
  errors.p90 = quantileOf(sizes, 0.9);
  errors.bias = quantileOf(ratios, 0.5);
  return errors;
}

Groups groupBy(const std::vector<const CaseResult *> &caseResults,
               const std::function<std::string(const CaseResult &)> &key) {
  Groups groups;
  for (const CaseResult *caseResult : caseResults)
    groups[key(*caseResult)].push_back(caseResult);
  return groups;
}

Order orderOf(const std::vector<const CaseResult *> &caseResults) {
  Order order;
  for (const auto &[key, group] : groupBy(caseResults, comparableKey)) {
    int64_t before = order.pairs;
    for (size_t i = 0; i < group.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const CaseResult &a = *group[i], &b = *group[j];
        if (a.item->seconds == 0 || b.item->seconds == 0 || a.item->seconds == b.item->seconds)
          continue;
        bool same = (a.item->seconds < b.item->seconds) ==
                    (a.estimate.stepSeconds < b.estimate.stepSeconds);
        ++order.pairs;
        ++(same ? order.concordant : order.discordant);
      }
    order.groups += order.pairs > before;
  }
  return order;
}

bool isLikelyToFit(const CaseResult &caseResult) {
  return Uncertainty::of(caseResult.key)
             .fitProbability(caseResult.estimate.peakBytes, caseResult.item->memoryLimit) >= 0.5;
}

bool isEstimatedToFit(const CaseResult &caseResult) { return caseResult.estimate.fits; }

Feasibility feasibilityOf(const std::vector<const CaseResult *> &caseResults, const Fits &fits) {
  Feasibility result;
  for (const CaseResult *caseResult : caseResults) {
    if (caseResult->item->ranOutOfMemory) {
      ++result.failed;
      result.failedFits += fits(*caseResult);
    } else {
      ++result.ran;
      result.ranFits += fits(*caseResult);
    }
  }
  return result;
}

Summary summaryOf(const std::vector<const CaseResult *> &caseResults) {
  Summary summary;
  std::vector<double> times, memories;
  for (const CaseResult *caseResult : caseResults) {
    if (caseResult->item->seconds > 0)
      times.push_back(caseResult->timeRatio());
    if (caseResult->item->memory > 0)
      memories.push_back(caseResult->memoryRatio());
  }
  summary.time = errorsOf(std::move(times));
  summary.memory = errorsOf(std::move(memories));
  summary.order = orderOf(caseResults);
  summary.feasibility = feasibilityOf(caseResults);
  return summary;
}

} // namespace dtc::published
