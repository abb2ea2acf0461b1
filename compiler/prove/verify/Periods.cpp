#include "compiler/prove/verify/Periods.h"

#include <algorithm>

namespace dtc {
namespace {

// Longer periods are not looked for: those of interleaved schedules have some runs for each chunk
// of each stage.
constexpr uint32_t kLongest = 1024;

// Marks the first and the last run of each task.
std::vector<bool> findEnds(const std::vector<format::Run> &order) {
  std::vector<bool> isEnd(order.size());
  for (bool forward : {true, false}) {
    std::vector<bool> seen;
    for (size_t i = 0; i < order.size(); ++i) {
      size_t at = forward ? i : order.size() - 1 - i;
      uint32_t task = order[at].task();
      seen.resize(std::max<size_t>(seen.size(), task + 1));
      if (!seen[task])
        isEnd[at] = true;
      seen[task] = true;
    }
  }
  return isEnd;
}

// The longest stretch that repeats itself after `length` runs.
Period findStretch(const std::vector<format::Run> &order, const std::vector<bool> &isEnd,
                   uint32_t length) {
  Period best, now;
  for (uint32_t i = 0; i + length < order.size(); ++i) {
    const format::Run &a = order[i], &b = order[i + length];
    bool goesOn = a.task() == b.task() && a.micro_batch() < b.micro_batch() && !isEnd[i] &&
                  !isEnd[i + length];
    uint32_t shift = b.micro_batch() - a.micro_batch();
    if (!goesOn)
      now = {};
    else if (now.end == 0 || now.shift != shift)
      now = {i, i + length + 1, length, shift};
    else
      now.end = i + length + 1;
    if (now.end - now.begin > best.end - best.begin)
      best = now;
  }
  return best;
}

// Lengths of which a period may be that has one of these runs: so far behind it its task runs
// again.
std::vector<uint32_t> candidatesOf(const std::vector<format::Run> &order) {
  std::vector<uint32_t> lengths;
  auto size = static_cast<uint32_t>(order.size());
  for (uint32_t quarter : {1u, 2u, 3u})
    for (uint32_t from = size / 4 * quarter, i = from + 1; i < size && i - from <= kLongest; ++i)
      if (order[i].task() == order[from].task() && 3 * (i - from) < size)
        lengths.push_back(i - from);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

} // namespace

std::optional<Period> findPeriod(const std::vector<format::Run> &order) {
  std::vector<bool> isEnd = findEnds(order);
  Period best;
  // Returns the runs that can be skipped once the leading periods have been followed.
  auto gain = [](const Period &period) {
    uint32_t size = period.end - period.begin;
    return size > 3 * period.length ? size - 3 * period.length : 0;
  };
  for (uint32_t length : candidatesOf(order)) {
    Period found = findStretch(order, isEnd, length);
    if (gain(found) > gain(best))
      best = found;
    if (gain(best) > order.size() / 2)
      break;
  }
  return gain(best) > 0 ? std::optional(best) : std::nullopt;
}

} // namespace dtc
