// Branch and bound over parts of the assignments, for problems that are small after presolve.
#pragma once

#include "compiler/search/solver/Part.h"

#include <map>

namespace dtc::solver {

// Works towards a target. The target is at most the best known cost, and lower while that is far
// from the bound, because a target near the bound removes large parts of a problem. When all parts
// are refuted, no assignment costs less than the target, and the next target is higher. Parts with
// the least bound come first, and among equal ones the newest.
class Branch {
public:
  // Starts with a bound on all assignments and the prices of memory that led to it.
  Branch(const Network &network, double bound, std::vector<double> prices, uint64_t seed);

  // Returns at most `count` parts to explore next. Returns none if the best cost is proven. `best`
  // is the least known cost, or infinity.
  std::vector<Part> take(size_t count, double best);
  // Takes the result of exploring a part. Call it in the order in which the parts were taken.
  void give(PartResult result);

  double target() const { return goal; }
  // Returns a bound below which no assignment costs: the lesser of the target and the least bound
  // of all parts.
  double bound() const { return proven; }

private:
  void restart(double best);
  void updateBound();

  const Network &network;
  std::vector<double> prices;
  uint64_t seed;
  std::map<std::pair<double, int64_t>, Part> open; // keyed by bound, then newest first
  size_t taken = 0;
  int64_t made = 0;
  double proven, goal = 0;
  bool started = false;
};

} // namespace dtc::solver
