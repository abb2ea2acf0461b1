// Branch and bound over parts of the assignments, for problems that are small after presolve.
#pragma once

#include "compiler/solver/Part.h"

#include <map>

namespace dtc::solver {

// Works towards a target: no more than the best cost known, and lower while that is far from the
// bound, since much of a problem falls away where only little is left between bound and target.
// Where all parts are refuted, no assignment costs less than the target, and the next one is
// higher. Parts with the least bound come first, of equal ones the newest.
class Branch {
public:
  // Starts with a bound on all assignments and the prices of memory that led to it.
  Branch(const Network &network, double bound, std::vector<double> prices, uint64_t seed);

  // The parts to look at next, at most count; none where the best cost is proven. best: the least
  // cost known, infinity where there is none.
  std::vector<Part> take(size_t count, double best);
  // What looking at a part found; in the order in which they were taken.
  void give(PartResult result);

  double target() const { return goal; }
  // No assignment costs less; the lesser of the target and the least bound of all parts.
  double bound() const { return proven; }

private:
  void restart(double best);
  void updateBound();

  const Network &network;
  std::vector<double> prices;
  uint64_t seed;
  std::map<std::pair<double, int64_t>, Part> open; // by bound, then newest first
  size_t taken = 0;
  int64_t made = 0;
  double proven, goal = 0;
  bool started = false;
};

} // namespace dtc::solver
