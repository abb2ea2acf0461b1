// Solves placement problems: an assignment, a lower bound on all assignments, and the gap between
// them.
#pragma once

#include "compiler/solver/Problem.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace dtc::solver {

struct SolveOptions {
  double seconds = 60; // wall clock; presolve alone may take longer on a large problem
  uint64_t seed = 1;
  int threads = 0; // 0: as many as the machine has, at most 2
  // Work is done in rounds of equal work. What is known after a round depends on the problem and
  // the seed only, not on threads or the machine; a wall clock that stops within a round may leave
  // a result between two rounds.
  int64_t rounds = std::numeric_limits<int64_t>::max();
  int64_t roundWork = 30'000'000; // of each of the two jobs in a round: table entries read
};

struct SolveResult {
  std::vector<int32_t> choice;  // a value per node; empty where presolve proves that there is none
  int64_t cost = kInfiniteCost; // of choice; kInfiniteCost where it takes a forbidden value or pair
  int64_t lowerBound = 0;       // no assignment within the limit costs less
  bool usageOk = false;
  double seconds = 0;
  int64_t rounds = 0; // done

  bool feasible() const { return usageOk && cost < kInfiniteCost; }
  bool optimal() const { return feasible() && cost == lowerBound; }
  // (cost - lowerBound) / lowerBound; 0 where both are 0, infinity where nothing feasible was
  // found.
  double gap() const;
};

// problem must have passed problemError(). Example:
//   Result<Problem> problem = readProblem("B.json.gz");
//   SolveResult result = solve(*problem, {.seconds = 10});
//   // result.cost 532843, result.gap() 0
SolveResult solve(const Problem &problem, const SolveOptions &options = {});

} // namespace dtc::solver
