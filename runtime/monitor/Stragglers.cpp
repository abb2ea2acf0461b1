#include "runtime/monitor/Stragglers.h"

#include <algorithm>

namespace dtc::rt {

constexpr uint64_t kWindowSteps = 5;
constexpr double kWindowSeconds = 3;
constexpr int kWindowsRunning = 3;
constexpr double kSlow = 1 / 0.7, kLeastCost = 0.05;
constexpr double kStays = 1.5; // keeps naming the same one among equally slow ranks

void Stragglers::receive(int rank, const WorkTotals &totals) {
  Rank &of = ranks[static_cast<size_t>(rank)];
  of.hasReported = true;
  of.now = totals;
  // Counters reported by a rank may not be monotonic; regressions are ignored.
  if (totals.steps < of.begin.steps || totals.workNanos < of.begin.workNanos ||
      totals.stepNanos < of.begin.stepNanos || totals.stoppedNanos < of.begin.stoppedNanos)
    of.begin = totals;
}

bool Stragglers::isAlone(int rank) const {
  uint32_t program = ranks[static_cast<size_t>(rank)].now.program;
  return std::count_if(ranks.begin(), ranks.end(), [&](const Rank &each) {
           return each.hasReported && each.now.program == program;
         }) == 1;
}

// All have run enough steps since the window began.
bool Stragglers::isWindow(double now) const {
  return now - windowBegin >= kWindowSeconds &&
         std::all_of(ranks.begin(), ranks.end(), [](const Rank &rank) {
           return !rank.hasReported || rank.now.steps - rank.begin.steps >= kWindowSteps;
         });
}

// The median of the work of those that run the same program, without the rank itself; 0: nobody's.
double Stragglers::othersOf(size_t index) const {
  const std::vector<double> &all = sorted.find(ranks[index].now.program)->second;
  if (all.size() == 1)
    return ranks[index].best;
  size_t middle = (all.size() - 1) / 2; // median of all but one
  bool isBefore = ranks[index].seconds <= all[middle];
  return all[isBefore ? middle + 1 : middle];
}

Straggler Stragglers::judge(size_t index, double stepSeconds) {
  Rank &rank = ranks[index];
  double others = othersOf(index);
  bool isSlower = others > 0 && rank.seconds > others * kSlow;
  // A rank may be stopped at work, or while it waits.
  double lost = std::max(isSlower ? rank.seconds - others : 0, rank.stopped);
  // Stops count as they go, a step once it has ended: where a window ends within a step, more may
  // be stopped in it than its steps took.
  double cost = stepSeconds > 0 ? std::min(lost / stepSeconds, 1.0) : 0;
  bool isSlow = cost >= kLeastCost;
  bool isSame = isSlow == (rank.windows > 0);
  rank.windows = isSlow ? (isSame ? rank.windows + 1 : 1) : (isSame ? rank.windows - 1 : -1);
  if (rank.best == 0 || rank.seconds < rank.best)
    rank.best = rank.seconds;
  bool was = found.rank == static_cast<int>(index);
  bool is = rank.windows >= kWindowsRunning || (was && rank.windows > -kWindowsRunning);
  return is ? Straggler{static_cast<int>(index), rank.seconds, others, rank.stopped, cost}
            : Straggler{};
}

bool Stragglers::tick(double now) {
  if (windowBegin < 0 || !isWindow(now)) {
    if (windowBegin < 0)
      windowBegin = now;
    return false;
  }
  double step = 0, reporters = 0;
  sorted.clear();
  for (Rank &rank : ranks) {
    if (!rank.hasReported)
      continue;
    ++reporters;
    auto steps = static_cast<double>(rank.now.steps - rank.begin.steps);
    rank.seconds = static_cast<double>(rank.now.workNanos - rank.begin.workNanos) * 1e-9 / steps;
    rank.stopped =
        static_cast<double>(rank.now.stoppedNanos - rank.begin.stoppedNanos) * 1e-9 / steps;
    step += static_cast<double>(rank.now.stepNanos - rank.begin.stepNanos) * 1e-9 / steps;
    rank.begin = rank.now;
    sorted[rank.now.program].push_back(rank.seconds);
  }
  step /= std::max(reporters, 1.0);
  for (auto &[program, seconds] : sorted)
    std::sort(seconds.begin(), seconds.end());
  windowBegin = now;
  Straggler worst;
  double mostWeight = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!ranks[i].hasReported)
      continue;
    Straggler each = judge(i, step);
    double weight = each.costShare * (each.rank == found.rank ? kStays : 1);
    if (each.rank >= 0 && weight >= mostWeight) {
      worst = each;
      mostWeight = weight;
    }
  }
  bool isNew = worst.rank != found.rank;
  found = worst;
  return isNew;
}

} // namespace dtc::rt
