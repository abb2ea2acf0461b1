// Exact presolve: a smaller network with the same optimum, and the way back.
#pragma once

#include "compiler/solver/Network.h"
#include "compiler/solver/Problem.h"
#include "compiler/solver/WorkGraph.h"

namespace dtc::solver {

struct Reduction {
  bool infeasible = false; // proven: no assignment is finite and within the limit
  Network network;
  std::vector<int32_t> kept;                // the original node of each node of the network
  std::vector<std::vector<int32_t>> origin; // the original value of each value of it
  std::vector<Removal> removals;            // in the order in which the others went
  std::vector<int32_t> times; // the original point of each point of time of the network
  int32_t originalNodes = 0;

  // The assignment of the original problem that stands for one of the network.
  std::vector<int32_t> lift(std::span<const int32_t> choice) const;
};

// Repeats, until nothing changes:
//   1. values without a finite partner at some edge, or that overrun the limit even where all else
//      uses its least, go;
//   2. nodes with one value go, and edges whose table is a sum of two unary costs;
//   3. a node whose value follows from a neighbour's is merged into it (its usage becomes part of
//      the neighbour's profile over time);
//   4. a node whose memory never matters and that has at most two neighbours is minimised out;
//   5. a value that another one dominates in costs, at every neighbour and in memory, goes.
// Points of time at which the limit can't be exceeded, or where no more is live than at another
// point, do not appear in the network. problem has passed problemError().
Reduction presolve(const Problem &problem);

// The same for what is left of a network where only some values may be taken, a flag for each entry
// of Network::unary; nodes, values and points of time of the network are the original ones. No
// value that is not allowed is in the result, in lift()ed assignments neither.
Reduction presolve(const Network &network, std::span<const char> allowed);

} // namespace dtc::solver
