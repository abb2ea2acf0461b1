// Measures the loss of running the configuration that the planner would pick among measured ones.
#include "bench/planner/Regret.h"

#include <algorithm>
#include <tuple>

namespace dtc::published {

double Regret::median() const { return quantileOf(lost, 0.5); }
double Regret::p90() const { return quantileOf(lost, 0.9); }

Regret regretOf(const std::vector<const CaseResult *> &caseResults, const Fits &fits) {
  Regret regret;
  for (const auto &[key, group] : groupBy(caseResults, comparableKey)) {
    // Rows that fit come before those that do not; then the best, then the first of the table.
    std::vector<std::tuple<bool, double, size_t, const CaseResult *>> order;
    double best = 0, worst = 0;
    for (const CaseResult *caseResult : group) {
      double seconds = caseResult->item->seconds;
      if (seconds > 0 || caseResult->item->ranOutOfMemory)
        order.emplace_back(!fits(*caseResult),
                           fits(*caseResult) ? caseResult->estimate.stepSeconds
                                             : caseResult->estimate.peakBytes,
                           caseResult->item->row->line, caseResult);
      if (seconds > 0)
        best = best == 0 ? seconds : std::min(best, seconds);
      worst = std::max(worst, seconds);
    }
    if (best == worst)
      continue;
    std::sort(order.begin(), order.end());
    const auto &[misfit, measure, line, first] = order.front();
    regret.nothingFits += misfit;
    regret.ranOutOfMemory += first->item->ranOutOfMemory;
    auto pick = llvm::find_if(order, [](const auto &each) {
      return std::get<const CaseResult *>(each)->item->seconds > 0;
    });
    regret.lost.push_back(std::get<const CaseResult *>(*pick)->item->seconds / best - 1);
  }
  std::sort(regret.lost.begin(), regret.lost.end());
  return regret;
}

} // namespace dtc::published
