#include "runtime/monitor/Work.h"

#include "runtime/monitor/Progress.h"

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

void Progress::addWork(uint32_t program, double workSeconds, double stepSeconds) {
  auto add = [](std::atomic<uint64_t> &to, double seconds) {
    to.fetch_add(seconds > 0 ? static_cast<uint64_t>(seconds * 1e9) : 0, relaxed);
  };
  page.work.program.store(program, relaxed);
  add(page.work.workNanos, workSeconds);
  add(page.work.stepNanos, stepSeconds);
  page.work.steps.fetch_add(1, relaxed);
  page.isInStep.store(0, relaxed);
}

RankWork Progress::workOf(int rank) const {
  auto index = static_cast<size_t>(rank);
  if (index >= WorkPage::kMostRanks)
    return {};
  const WorkPage::Entry &entry = page.work.ranks[index];
  return {entry.step.load(relaxed), entry.workSeconds.load(relaxed)};
}

Straggler Progress::straggler() const {
  return {.rank = page.work.straggler.load(relaxed) - 1,
          .workSeconds = page.work.stragglerWork.load(relaxed),
          .othersSeconds = page.work.othersWork.load(relaxed),
          .stoppedSeconds = page.work.stragglerStopped.load(relaxed),
          .costShare = page.work.stragglerCost.load(relaxed)};
}

} // namespace dtc::rt
