#include "runtime/monitor/Work.h"

namespace dtc::rt {

constexpr auto relaxed = std::memory_order_relaxed;

WorkTotals WorkPage::totals() const {
  return {program.load(relaxed), steps.load(relaxed), workNanos.load(relaxed),
          stepNanos.load(relaxed), 0};
}

void WorkPage::set(int rank, const RankWork &work) {
  auto index = static_cast<size_t>(rank);
  if (index >= kMostRanks)
    return;
  ranks[index].workSeconds.store(work.workSeconds, relaxed);
  ranks[index].step.store(work.step, relaxed);
}

void WorkPage::set(const Straggler &found) {
  stragglerWork.store(found.workSeconds, relaxed);
  othersWork.store(found.othersSeconds, relaxed);
  stragglerStopped.store(found.stoppedSeconds, relaxed);
  stragglerCost.store(found.costShare, relaxed);
  straggler.store(found.rank + 1, relaxed);
}

} // namespace dtc::rt
