// The work of a search, and its limits.
#include "compiler/search/planner/SearchWork.h"

#include <algorithm>

namespace dtc {

// Limits of the extra search for the plan with the smallest memory, after a search that found none
// that fits.
constexpr int64_t kWorkOfLeastMemory = kSearchWork / 6;
constexpr double kSecondsOfLeastMemory = kSearchSeconds / 6;

SearchWork::SearchWork(const SearchOptions &options)
    : start(std::chrono::steady_clock::now()), mostWork(options.work),
      mostSeconds(options.seconds) {}

int64_t SearchWork::addCandidate(const Decisions &d) {
  done += d.pp * d.virtualStages;
  return ++candidates;
}

void SearchWork::addSchedule(const Decisions &d) {
  int64_t chunks = d.pp * d.virtualStages;
  done += 3 * chunks * std::min(d.numMicroBatches, 4 * chunks);
}

bool SearchWork::isSpent(bool isForLeastMemory) const {
  int64_t mayWork = mostWork + (isForLeastMemory ? kWorkOfLeastMemory : 0);
  double maySeconds = mostSeconds + (isForLeastMemory ? kSecondsOfLeastMemory : 0);
  return done > mayWork ||
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
             maySeconds;
}

} // namespace dtc
