// A look at a part of all assignments: what it costs at least, the best that is found in it, and
// two halves of what is left of it.
#pragma once

#include "compiler/solver/Network.h"

#include <cmath>
#include <functional>

namespace dtc::solver {

// The assignments that take allowed values only.
struct Part {
  std::vector<char> allowed;   // per entry of Network::unary
  std::vector<double> prices;  // of memory, from which its bound starts
  std::vector<double> promise; // of each node: how much probing it has lately paid
  double bound = 0;            // no assignment of the part costs less
  uint64_t seed = 0;
};

struct PartResult {
  std::vector<Part> halves;        // together all of it that may cost less than the target
  bool found = false;              // an assignment within the limits
  std::vector<int32_t> assignment; // the best found
  double cost = 0;                 // of it
};

// Rounding errors of bounds stay far below a part in 10^11.
inline double safely(double bound) { return bound - 1e-11 * std::abs(bound) - 1e-6; }

// Costs are whole numbers: true where nothing of this bound costs less than target.
inline bool reaches(double bound, double target) { return safely(bound) > target - 1; }

// Repeats, while it gets much smaller: presolve what is left (memory that some take is not there
// for others), bound it, search it, and probe it: values of a node go where the bound with only
// these for the node reaches target. Then halves it at the node where both halves' bounds rise
// most. Depends on its arguments only, but for stop().
PartResult explore(const Network &network, const Part &part, double target,
                   const std::function<bool()> &stop);

} // namespace dtc::solver
