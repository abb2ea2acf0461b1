// The work of a search, and its limits. Internal to this folder.
#pragma once

#include "compiler/decide/plan/Plan.h"
#include "compiler/search/planner/SearchOptions.h"

#include <chrono>

namespace dtc {

// Counts the work of one search, in the unit of SearchOptions::work, and the candidates that it has
// costed. Its clock starts when it is made.
class SearchWork {
public:
  explicit SearchWork(const SearchOptions &options);

  // Adds work.
  void add(int64_t amount) { done += amount; }
  // Adds the work of costing the stages of a candidate. Returns the candidate's number.
  int64_t addCandidate(const Decisions &decisions);
  // Adds the work of simulating the candidate's pipeline: of the tasks that are simulated one by
  // one, as later micro-batches repeat the period of the ones before.
  void addSchedule(const Decisions &decisions);
  // Returns the number of candidates.
  int64_t costed() const { return candidates; }
  // Returns true if the work or the seconds of the search are used up. `isForLeastMemory` includes
  // those that are added for the plan that needs the smallest memory.
  bool isSpent(bool isForLeastMemory = false) const;
  // Returns the limit that ends a search whose work or seconds are used up.
  SearchEnd limit() const { return done > mostWork ? SearchEnd::Work : SearchEnd::Seconds; }

private:
  std::chrono::steady_clock::time_point start;
  int64_t mostWork;
  double mostSeconds;
  int64_t done = 0, candidates = 0;
};

} // namespace dtc
