// Solves placement problems: finds an assignment, a lower bound on all assignments, and the gap
// between them.
#pragma once

#include "compiler/search/solver/Problem.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace dtc::solver {

// Limits of a solver's run.
struct SolveOptions {
  double seconds = 60; // wall clock; presolve alone may take longer on a large problem
  uint64_t seed = 1;
  int threads = 0; // 0 for all of the machine, but at most 2
  // Limit of rounds of equal work. The result of a round depends only on the problem and the seed,
  // not on threads or the machine. If the wall clock stops the solver within a round, the result
  // may lie between those of two rounds.
  int64_t rounds = std::numeric_limits<int64_t>::max();
  int64_t roundWork = 30'000'000; // work of each of the two jobs in a round: table entries read
};

// The best assignment found, and a bound.
struct SolveResult {
  // a value per node; empty if presolve proves that there is no assignment
  std::vector<int32_t> choice;
  // cost of choice; kInfiniteCost if it takes a forbidden value or pair
  int64_t cost = kInfiniteCost;
  int64_t lowerBound = 0; // no assignment within the limit costs less
  bool usageOk = false;
  double seconds = 0;
  int64_t rounds = 0; // rounds done

  // Returns true if the assignment fits and takes nothing forbidden.
  bool feasible() const { return usageOk && cost < kInfiniteCost; }
  // Returns true if the assignment is proven to be the best one.
  bool optimal() const { return feasible() && cost == lowerBound; }
  // Returns (cost - lowerBound) / lowerBound, 0 if both are 0, and infinity if nothing feasible was
  // found.
  double gap() const;
};

// Solves a problem that has passed problemError(). Example:
//   Result<Problem> problem = readProblem("B.json.gz");
//   SolveResult result = solve(*problem, {.seconds = 10});
//   // result.cost 532843, result.gap() 0
SolveResult solve(const Problem &problem, const SolveOptions &options = {});

} // namespace dtc::solver
