// Problems with the form of those that planning a training graph gives, and their answers by
// dynamic programming.
#pragma once

#include "compiler/search/solver/Problem.h"

#include <optional>

namespace dtc::solver {

// The size of a problem of layers.
struct LayerShape {
  int layers = 2;
  int choices = 4; // placements per op
  bool backward = false;
  uint64_t seed = 1;
};

// Returns layers of four ops: two in a row, an op that adds the layer's input, and one more. Every
// op has a placement for each choice. Two ops that disagree pay for moving the tensor, and some
// pairs of placements are forbidden. With backward, each op has a second op that reads its tensor.
// These form a chain that runs back, with residual edges of its own: a ladder. Every op uses memory
// at the only point of time, without a limit.
Problem layerProblem(const LayerShape &shape);

// Returns the least cost of all assignments within the limit, or nothing if none is allowed. Uses
// dynamic programming over the ops, in an order in which few of them are open at a time, with all
// trade-offs between cost and bytes. All nodes must have the same interval.
std::optional<int64_t> leastLayerCost(const Problem &problem, const LayerShape &shape);

} // namespace dtc::solver
