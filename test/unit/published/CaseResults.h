// Invented rows with their results.
#pragma once

#include "bench/planner/Statistics.h"

#include <deque>

namespace dtc::published {

// Makes rows with their estimates, and keeps them.
class CaseResults {
public:
  // Adds a row that took `seconds`, or ran out of memory if that is 0. Its estimate is `estimate`
  // seconds and `bytes` of a device of 80.
  CaseResult &add(const std::string &source, double seconds, double estimate, double bytes = 40) {
    Row &row = rows.emplace_back();
    row.line = rows.size();
    row.cells["source"] = source;
    row.cells["model"] = source + "'s model";
    if (seconds == 0)
      row.cells["notes"] = "OOM";
    Case &item = cases.emplace_back();
    item.row = &row;
    item.seconds = seconds;
    item.ranOutOfMemory = seconds == 0;
    item.memoryLimit = 80;
    CaseResult &caseResult = made.emplace_back();
    caseResult.item = &item;
    caseResult.estimate.stepSeconds = estimate;
    caseResult.estimate.peakBytes = bytes;
    caseResult.estimate.fits = bytes <= 80;
    caseResult.estimate.stages.emplace_back();
    caseResult.key = {{"core", "gpu"}, "H100", ModelKind::Dense};
    return caseResult;
  }
  // Returns the row that was added last.
  Row &last() { return rows.back(); }
  // Returns a row by its index.
  Row &rowOf(size_t index) { return rows[index]; }
  // Returns the case of a row by its index.
  Case &caseOf(size_t index) { return cases[index]; }
  // Returns all results in the order in which they were added.
  std::vector<const CaseResult *> all() const {
    std::vector<const CaseResult *> result;
    for (const CaseResult &caseResult : made)
      result.push_back(&caseResult);
    return result;
  }

private:
  std::deque<Row> rows;
  std::deque<Case> cases;
  std::deque<CaseResult> made;
};

} // namespace dtc::published
