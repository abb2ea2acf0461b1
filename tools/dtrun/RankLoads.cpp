#include "tools/dtrun/RankLoads.h"

#include <algorithm>
#include <utility>

namespace dtc::rt {

RankLoads loadsOf(std::vector<double> work, double seconds) {
  RankLoads loads;
  if (work.empty() || *std::min_element(work.begin(), work.end()) <= 0)
    return loads;
  loads.work = std::move(work);
  if (loads.work.size() == 1)
    return loads;
  std::vector<double> sorted = loads.work;
  std::sort(sorted.begin(), sorted.end());
  size_t half = sorted.size() / 2;
  double median = sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  auto slowest = std::max_element(loads.work.begin(), loads.work.end());
  loads.slowest = static_cast<int>(slowest - loads.work.begin());
  loads.excess = seconds > 0 ? (*slowest - median) / seconds : 0;
  return loads;
}

RankLoads readLoads(const Progress &progress, int ranks, double seconds) {
  std::vector<double> work;
  for (int rank = 0; rank < ranks; ++rank) {
    RankWork of = progress.workOf(rank);
    work.push_back(of.step > 0 ? of.workSeconds : 0);
  }
  RankLoads loads = loadsOf(std::move(work), seconds);
  loads.straggler = progress.straggler();
  return loads;
}

} // namespace dtc::rt
