// Problems shaped like the ones that planning a training graph gives, and their answers by dynamic
// programming.
#pragma once

#include "compiler/solver/Problem.h"

#include <optional>

namespace dtc::solver {

struct LayerShape {
  int layers = 2;
  int choices = 4; // placements per op
  bool backward = false;
  uint64_t seed = 1;
};

// Layers of four ops: two in a row, an op that adds the layer's input, one more. Every op has a
// placement for each choice; two ops that disagree pay for moving the tensor, and from some
// placements to others no way leads. With backward, each op has a second one that reads its tensor,
// in a chain that runs back, with residual edges of its own: a ladder. Every op uses memory at the
// one point of time there is; nothing limits it.
Problem layerProblem(const LayerShape &shape);

// The least cost of all assignments within the limit, by dynamic programming over the ops in an
// order in which few of them are open at a time, with all trade-offs between cost and bytes;
// nothing where none is allowed. All nodes must share their interval.
std::optional<int64_t> leastLayerCost(const Problem &problem, const LayerShape &shape);

} // namespace dtc::solver
