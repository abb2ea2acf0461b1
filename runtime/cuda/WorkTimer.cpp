#include "runtime/cuda/WorkTimer.h"

#include <algorithm>
#include <cmath>

namespace dtc::rt {
namespace {

// Number of rounds. Every candidate runs in each round, so that a changing GPU clock affects all
// equally.
constexpr int kRounds = 3;
// Time between two events: long compared with the cost of an event, short compared with the
// deadline.
constexpr double kTurnSeconds = 200e-6;
constexpr int kMostRuns = 16;

struct Candidate {
  size_t way = 0;
  int runs = 1; // runs per turn
  double seconds = INFINITY;
};

} // namespace

WorkTimer::~WorkTimer() {
  for (cu::Event event : {begin, end})
    if (event)
      pool.give(event);
}

Status WorkTimer::time(const Way &way, int runs, double &seconds) {
  for (cu::Event *event : {&begin, &end})
    if (!*event)
      DTC_RETURN_IF_ERROR(pool.take(*event));
  DTC_CUDA(driver, cuEventRecord, begin, stream);
  for (int i = 0; i < runs; ++i)
    DTC_RETURN_IF_ERROR(way());
  DTC_CUDA(driver, cuEventRecord, end, stream);
  DTC_CUDA(driver, cuCtxSynchronize);
  float milliseconds = 0;
  DTC_CUDA(driver, cuEventElapsedTime, &milliseconds, begin, end);
  seconds = static_cast<double>(milliseconds) * 1e-3 / runs;
  return {};
}

Status WorkTimer::choose(const std::vector<Way> &ways, Clock::time_point deadline, size_t &best) {
  // 1. Run each once, which loads its code, and once more to measure it. Some turn out not to be
  // usable.
  std::vector<Candidate> candidates;
  Status refused;
  for (size_t i = 0; i < ways.size(); ++i) {
    if (!candidates.empty() && Clock::now() >= deadline)
      break;
    Status first = ways[i]();
    DTC_CUDA(driver, cuCtxSynchronize);
    if (!first.ok()) {
      refused = first;
      continue;
    }
    double seconds = 0;
    DTC_RETURN_IF_ERROR(time(ways[i], 1, seconds));
    double runs = kTurnSeconds / std::max(seconds, 1e-9);
    candidates.push_back({.way = i, .runs = std::clamp(static_cast<int>(runs), 1, kMostRuns)});
  }
  if (candidates.empty())
    return refused;
  // 2. Measure all of them in turns. Ignore a round that is cut short.
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> times;
    for (const Candidate &each : candidates) {
      if (Clock::now() >= deadline)
        break;
      DTC_RETURN_IF_ERROR(time(ways[each.way], each.runs, times.emplace_back()));
    }
    for (size_t i = 0; times.size() == candidates.size() && i < times.size(); ++i)
      candidates[i].seconds = std::min(candidates[i].seconds, times[i]);
  }
  // 3. Choose the best.
  best =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const Candidate &x, const Candidate &y) { return x.seconds < y.seconds; })
          ->way;
  return {};
}

} // namespace dtc::rt
