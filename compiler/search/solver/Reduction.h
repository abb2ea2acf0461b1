// The result of presolve: a smaller network, and the way back from its assignments.
#pragma once

#include "compiler/search/solver/Network.h"
#include "compiler/search/solver/WorkGraph.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dtc::solver {

// The smaller network, and what is needed to map its assignments back.
struct Reduction {
  bool infeasible = false; // proven: no assignment is finite and within the limit
  Network network;
  std::vector<int32_t> kept;                // the original node of each node of the network
  std::vector<std::vector<int32_t>> origin; // the original value of each value of the network
  std::vector<Removal> removals;            // in the order in which the other nodes were removed
  std::vector<int32_t> times; // the original point of each point of time of the network
  int32_t originalNodes = 0;

  // Returns the assignment of the original problem for one of the network.
  std::vector<int32_t> lift(std::span<const int32_t> choice) const;
};

} // namespace dtc::solver
