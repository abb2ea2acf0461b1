// Explores a part of all assignments: a lower bound, the best assignment found in it, and two
// halves of what is left of it.
#pragma once

#include "compiler/search/solver/Network.h"

#include <cmath>
#include <functional>

namespace dtc::solver {

// The assignments that take only allowed values.
struct Part {
  std::vector<char> allowed;   // per entry of Network::unary
  std::vector<double> prices;  // of memory, from which its bound starts
  std::vector<double> promise; // for each node: how useful its probing was lately
  double bound = 0;            // no assignment of the part costs less
  uint64_t seed = 0;
};

// The result of exploring a part.
struct PartResult {
  std::vector<Part> halves; // together they hold everything that may cost less than the target
  bool found = false;       // an assignment within the limits was found
  std::vector<int32_t> assignment; // the best one found
  double cost = 0;                 // cost of the assignment
};

// Returns a bound that allows for rounding errors, which stay far below one part in 10^11.
inline double safely(double bound) { return bound - 1e-11 * std::abs(bound) - 1e-6; }

// Returns true if nothing of this bound costs less than the target. Costs are whole numbers.
inline bool reaches(double bound, double target) { return safely(bound) > target - 1; }

// Repeats the following while the part gets much smaller: presolve it (memory that some nodes take
// is not available to others), bound it, search it, and probe it. Probing removes values of a node
// if the bound with only these values for the node reaches the target. Then halves the part at the
// node for which both halves' bounds rise most. The result depends only on the arguments, except
// for stop().
PartResult explore(const Network &network, const Part &part, double target,
                   const std::function<bool()> &stop);

} // namespace dtc::solver
