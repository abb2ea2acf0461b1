// Exact presolve: makes a smaller network with the same optimum, and maps its assignments back.
#pragma once

#include "compiler/search/solver/Network.h"
#include "compiler/search/solver/Problem.h"
#include "compiler/search/solver/Reduction.h"
#include "compiler/search/solver/WorkGraph.h"

namespace dtc::solver {

// Repeats these rules until nothing changes:
//   1. Remove values without a finite partner at some edge, and values that exceed the limit even
//   if everything else uses its least.
//   2. Remove nodes with one value, and edges whose table is a sum of two unary costs.
//   3. Merge a node whose value a neighbour determines into that neighbour (its usage becomes part
//   of the neighbour's profile over time).
//   4. Minimise out a node whose memory never matters and that has at most two neighbours.
//   5. Remove a value that another one dominates in costs, at every neighbour and in memory.
// Points of time at which the limit cannot be exceeded, or at which no more is live than at another
// point, do not appear in the network. `problem` must have passed problemError().
Reduction presolve(const Problem &problem);

// Applies the same rules to what is left of a network if only some values may be taken. `allowed`
// has a flag for each entry of Network::unary. The original nodes, values and points of time in the
// result are those of the network. A value that is not allowed is neither in the result nor in
// lift()ed assignments.
Reduction presolve(const Network &network, std::span<const char> allowed);

} // namespace dtc::solver
