// Outcomes of made-up rows.
#pragma once

#include "bench/planner/Statistics.h"

#include <deque>

namespace dtc::published {

class Outcomes {
public:
  // A row that took `seconds`, or ran out of memory where that is 0, estimated to take `estimate`
  // and `bytes` of a device of 80.
  Outcome &add(const std::string &source, double seconds, double estimate, double bytes = 40) {
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
    Outcome &outcome = made.emplace_back();
    outcome.item = &item;
    outcome.estimate.stepSeconds = estimate;
    outcome.estimate.peakBytes = bytes;
    outcome.estimate.fits = bytes <= 80;
    outcome.estimate.stages.emplace_back();
    outcome.key = {{"core", "gpu"}, "H100", ModelKind::Dense};
    return outcome;
  }
  Row &last() { return rows.back(); }
  Row &rowOf(size_t index) { return rows[index]; }
  Case &caseOf(size_t index) { return cases[index]; }
  std::vector<const Outcome *> all() const {
    std::vector<const Outcome *> result;
    for (const Outcome &outcome : made)
      result.push_back(&outcome);
    return result;
  }

private:
  std::deque<Row> rows;
  std::deque<Case> cases;
  std::deque<Outcome> made;
};

} // namespace dtc::published
