// Finds periods in the runs of an entry.
#include "passes/schedule/RunPeriod.h"

namespace dtc {
namespace {

using Runs = std::vector<RunOrder::Run>;

// Longest period that is tried: a steady pipeline repeats after a few runs of each task.
constexpr size_t kMostTried = 64;

// Returns the range of runs after the first run of every task and before the last run of any. Tasks
// that run once do not limit it.
std::pair<size_t, size_t> middleOf(const Runs &runs) {
  llvm::DenseMap<mlir::Operation *, std::pair<size_t, size_t>> ends;
  for (auto [index, run] : llvm::enumerate(runs))
    ends.try_emplace(run.task, index, index).first->second.second = index;
  size_t begin = 0, end = runs.size();
  for (const auto &[task, found] : ends) {
    auto [first, last] = found;
    if (first == last)
      continue; // a run without an equal one ends a stretch by itself
    begin = std::max(begin, first + 1);
    end = std::min(end, last);
  }
  return {begin, std::max(begin, end)};
}

// Returns the longest stretch of runs [begin, end) that equal those `length` before them.
RunPeriod stretchOf(const Runs &runs, std::pair<size_t, size_t> middle, size_t length,
                    int64_t shift) {
  RunPeriod best, now;
  for (size_t i = middle.first; i + length < middle.second; ++i) {
    const RunOrder::Run &a = runs[i], &b = runs[i + length];
    bool isShifted = a.task == b.task && a.microBatch >= 0 && b.microBatch == a.microBatch + shift;
    if (!isShifted)
      now = {};
    else if (now.end == 0)
      now = {i, i + length + 1, length, shift};
    else
      now.end = i + length + 1;
    if (now.end - now.begin > best.end - best.begin)
      best = now;
  }
  return best;
}

} // namespace

std::optional<RunPeriod> findRunPeriod(const Runs &runs, int64_t multiple) {
  std::pair<size_t, size_t> middle = middleOf(runs);
  size_t from = (middle.first + middle.second) / 2, tried = 0;
  for (size_t at = from + 1; at < middle.second && tried < kMostTried; ++at) {
    int64_t shift = runs[at].microBatch - runs[from].microBatch;
    if (runs[at].task != runs[from].task || shift <= 0 || shift % multiple != 0)
      continue;
    ++tried;
    RunPeriod found = stretchOf(runs, middle, at - from, shift);
    if (2 * (found.end - found.begin) > runs.size())
      return found;
  }
  return std::nullopt;
}

} // namespace dtc
