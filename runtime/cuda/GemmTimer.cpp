#include "runtime/cuda/GemmTimer.h"

#include <algorithm>
#include <cmath>

namespace dtc::rt {
namespace {

// Every algorithm has a turn in each round, so that a GPU whose clock rises or falls treats all alike.
constexpr int kRounds = 3;
// What is between two events: long against what an event costs, short against the deadline.
constexpr double kTurnSeconds = 200e-6;
constexpr int kMostRuns = 16;

struct Candidate {
  cu::BlasAlgo algorithm{};
  int runs = 1; // of a turn
  double seconds = INFINITY;
};

} // namespace

GemmTimer::~GemmTimer() {
  for (cu::Event event : {begin, end})
    if (event)
      pool.give(event);
}

Status GemmTimer::time(const GemmPlan &plan, const GemmOperands &operands, int runs,
                       double &seconds) {
  for (cu::Event *event : {&begin, &end})
    if (!*event)
      DTC_RETURN_IF_ERROR(pool.take(*event));
  DTC_CUDA(driver, cuEventRecord, begin, stream);
  for (int i = 0; i < runs; ++i)
    DTC_RETURN_IF_ERROR(plan.run(operands, workspace, stream));
  DTC_CUDA(driver, cuEventRecord, end, stream);
  DTC_CUDA(driver, cuCtxSynchronize);
  float milliseconds = 0;
  DTC_CUDA(driver, cuEventElapsedTime, &milliseconds, begin, end);
  seconds = static_cast<double>(milliseconds) * 1e-3 / runs;
  return {};
}

Status GemmTimer::choose(GemmPlan &plan, const GemmOperands &operands, Clock::time_point deadline) {
  // 1. Run each once, which loads its code, and once more to see how long it takes. Some are found not to do.
  std::vector<Candidate> candidates;
  Status refused;
  for (const cu::BlasAlgo &algorithm : plan.algorithms()) {
    if (!candidates.empty() && Clock::now() >= deadline)
      break;
    plan.choose(algorithm);
    Status first = plan.run(operands, workspace, stream);
    DTC_CUDA(driver, cuCtxSynchronize);
    if (!first.ok()) {
      refused = first;
      continue;
    }
    double seconds = 0;
    DTC_RETURN_IF_ERROR(time(plan, operands, 1, seconds));
    double runs = kTurnSeconds / std::max(seconds, 1e-9);
    candidates.push_back(
        {.algorithm = algorithm, .runs = std::clamp(static_cast<int>(runs), 1, kMostRuns)});
  }
  if (candidates.empty())
    return refused;
  plan.choose(candidates.front().algorithm);
  // 2. Measure all of them in turns. Of a round that is cut short nothing is taken.
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> times;
    for (const Candidate &each : candidates) {
      if (Clock::now() >= deadline)
        break;
      plan.choose(each.algorithm);
      DTC_RETURN_IF_ERROR(time(plan, operands, each.runs, times.emplace_back()));
    }
    for (size_t i = 0; times.size() == candidates.size() && i < times.size(); ++i)
      candidates[i].seconds = std::min(candidates[i].seconds, times[i]);
  }
  // 3. Take the best.
  auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate &x, const Candidate &y) { return x.seconds < y.seconds; });
  plan.choose(best->algorithm);
  return {};
}

} // namespace dtc::rt
